/** Whether the CRD is installed, and is the one of this version of the program. */
import { isObject, own } from '../../nodepool/json.ts';
import { deepEqual } from '../../nodepool/merge-patch.ts';
import { helmReleaseOf, helmUpgrade } from '../install/helm-release.ts';
import { error, type Finding, ok, warning } from './check.ts';

const INSTALL = 'run `kubectl nodepool install`';

type Json = Record<string, unknown>;

/** @param wanted the manifest. @param live the CRD as the server has it; undefined when there is none */
export function checkCrd(wanted: Json, live: Json | undefined): Finding {
  if (live === undefined) return error('the CRD nodepools.nodes.lailin.xyz is not installed', INSTALL);
  const install = installRemedy(live);
  const metadata = objectAt(live, 'metadata');
  if (metadata.deletionTimestamp !== undefined) {
    return error(
      'the CRD nodepools.nodes.lailin.xyz is being deleted, and all pools with it',
      `run \`kubectl nodepool reconcile\`, which releases the nodes and so ends the deletion; then ${install}`,
    );
  }
  const refused = conditions(live).find(({ type, status }) => NEEDED.includes(String(type)) && status !== 'True');
  if (refused !== undefined) {
    return error(
      `the NodePool resource is not served: ${refused.message ?? refused.reason}`,
      'see its conditions: kubectl describe crd nodepools.nodes.lailin.xyz',
    );
  }
  const lacking = listOf(objectAt(wanted, 'spec').versions).flatMap(version => missingIn(version, live));
  if (lacking.length > 0) {
    return error('the CRD is of another version, and lacks what this version uses', install, lacking);
  }
  const differing = differences(objectAt(wanted, 'spec'), objectAt(live, 'spec'), 'spec');
  if (differing.length > 0) {
    return warning('the CRD is of another version: its rules differ', install, differing);
  }
  return ok('the CRD is installed and is that of this version');
}

/** The CRD keeps the labels of a release that is gone. */
function installRemedy(live: Json): string {
  const release = helmReleaseOf(live);
  if (release === undefined) return INSTALL;
  return `run \`${helmUpgrade(release)}\`, or \`kubectl nodepool install\` if that release is gone`;
}

const NEEDED = ['NamesAccepted', 'Established'];

/** What the server would drop or refuse: a version that it does not serve, a field that it does not know. */
function missingIn(version: Json, live: Json): string[] {
  const name = String(version.name);
  const served = listOf(objectAt(live, 'spec').versions).find(other => other.name === version.name);
  if (served?.served !== true) return [`version ${name} is not served`];
  const status = isObject(objectAt(served, 'subresources').status) ? [] : [`version ${name} has no subresource status`];
  return [...status, ...missingFields(schemaOf(version), schemaOf(served), '')];
}

function schemaOf(version: Json): Json {
  return objectAt(objectAt(version, 'schema'), 'openAPIV3Schema');
}

function missingFields(wanted: Json, live: Json, path: string): string[] {
  if (live['x-kubernetes-preserve-unknown-fields'] === true) return [];
  const known = objectAt(live, 'properties');
  const fields = Object.entries(objectAt(wanted, 'properties')).flatMap(([name, schema]) => {
    const field = path === '' ? name : `${path}.${name}`;
    const other = own(known, name);
    if (!isObject(schema)) return [];
    return isObject(other) ? missingFields(schema, other, field) : [`there is no field ${field}`];
  });
  const items = isObject(wanted.items) ? missingFields(wanted.items, objectAt(live, 'items'), `${path}[]`) : [];
  return [...fields, ...items];
}

/** Paths at which they differ, the nearest to the root; what the server adds beside `versions` by itself is no difference. */
function differences(wanted: Json, live: Json, path: string): string[] {
  return Object.keys(wanted).flatMap(key => {
    const [a, b] = [own(wanted, key), own(live, key)];
    const field = `${path}.${key}`;
    if (key === 'versions') return deepEqual(a, b) ? [] : versionDifferences(listOf(a), listOf(b), field);
    if (isObject(a) && isObject(b)) return differences(a, b, field);
    return deepEqual(a, b) ? [] : [field];
  });
}

function versionDifferences(wanted: Json[], live: Json[], path: string): string[] {
  const names = new Set([...wanted, ...live].map(({ name }) => String(name)));
  return [...names].flatMap(name => {
    const [a, b] = [wanted, live].map(versions => versions.find(version => version.name === name));
    const field = `${path}[${name}]`;
    if (a === undefined || b === undefined) return [field];
    return Object.keys({ ...a, ...b }).flatMap(key => (deepEqual(own(a, key), own(b, key)) ? [] : [`${field}.${key}`]));
  });
}

function conditions(crd: Json): Json[] {
  return listOf(objectAt(crd, 'status').conditions);
}

function objectAt(object: Json, key: string): Json {
  const value = own(object, key);
  return isObject(value) ? value : {};
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
