/** Runs all checks in the order of their dependencies. */
import type { Connection } from '../../kube/connect.ts';
import type { AccessFacts, ServerProbe } from '../../kube/resources/doctor.ts';
import type { ManifestObject } from '../../kube/resources/manifests.ts';
import { ForbiddenError } from '../../nodepool/errors.ts';
import { deepEqual, isObject, ownValue } from '../../nodepool/json.ts';
import { hasLostFields, LOST_FIELDS, MEND_LOST_FIELDS } from '../../nodepool/membership/membership.ts';
import { LEASE_NAMESPACE } from '../../nodepool/types.ts';
import {
  CHECKS,
  type Check,
  type CheckFinding,
  type CheckId,
  error,
  failed,
  notChecked,
  ok,
  skipped,
  unlessRefused,
  warning,
} from '../shared/check.ts';
import { hasCondition } from '../shared/cordon/maintenance.ts';
import { type BornInPool, bornInPoolOf, policiesOff } from '../shared/install/admission-policies.ts';
import { checkNames, formerRoles, helmReleaseOf, helmUpgrade } from '../shared/install/foreign-objects.ts';
import { readLeases } from '../shared/leases.ts';
import { needsOf, PUBLISHES } from '../shared/permissions/needs.ts';
import { type ValueOrRefusal, valueOrRefusal } from '../shared/refusals.ts';
import { checkController, type FindDeployment } from './controller.ts';
import { checkControllerPermissions, checkPermissions, checkPolicies } from './permissions.ts';
import { type DoctorState, readState, stateFindings } from './state.ts';

export interface DoctorOptions {
  /** The CRD that this version installs. */
  crd: Record<string, unknown>;
  /** The controller's objects that this version installs. */
  controller: readonly ManifestObject[];
  /** The admission policies that this version installs. */
  policies: readonly ManifestObject[];
  /** The admission policy that gives new nodes their pool's labels and taints, as this version installs it. */
  bornInPool: readonly ManifestObject[];
  /** The names of this program's commands. */
  commands: readonly string[];
}

export interface DoctorDeps {
  connect(): Promise<Connection>;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
}

/** All checks, in order; a check that could not run is skipped. Throws only for an invalid command line. */
export async function doctor(options: DoctorOptions, deps: DoctorDeps): Promise<Check[]> {
  const { why, ...findings } = await examine(options, deps);
  return CHECKS.map(id => ({ id, ...(findings[id] ?? skipped(why)) }));
}

/** @returns the findings, and the reason why the rest was skipped */
async function examine(
  options: DoctorOptions,
  { connect, now, sleep }: DoctorDeps,
): Promise<Partial<Record<CheckId, CheckFinding>> & { why: string }> {
  const opened = await valueOrRefusal(connect);
  if ('refusal' in opened) return { kubeconfig: failed(opened.refusal), why: 'the kubeconfig is not usable' };
  const connection = opened.value;
  const port = await connection.doctor();
  const kubeconfig = checkKubeconfig(port.access);
  const probed = await valueOrRefusal(() => port.probe());
  if ('refusal' in probed) return { kubeconfig, server: failed(probed.refusal), why: 'see the check "server"' };
  const probe = probed.value;
  if (probe.isAnonymous) return { kubeconfig, server: notLoggedIn(port.access), why: 'not logged in' };
  const { controller: manifest, policies, bornInPool } = options;
  const findDeployment = once(() => deploymentOf(manifest, connection));
  const controllerNamespace = namespaceOf(manifest);
  const leases = readLeases({
    namespaces: [controllerNamespace, LEASE_NAMESPACE],
    lease: connection.lease,
    now: () => new Date(now().getTime() + (clockSkewMs(probe) ?? 0)),
    sleep,
  });
  const seen = valueOrRefusal(() => leases);
  const controllerRuns = async () => {
    const found = await seen;
    // If leases may not be read, assume that a controller may run.
    return 'refusal' in found || found.value.some(({ isAlive }) => isAlive);
  };
  const read = readState(connection, port, { controllerRuns, sleep });
  const off = valueOrRefusal(() => policiesOff(policies, connection.manifests));
  const born = valueOrRefusal(() => bornInPoolOf(bornInPool, connection.manifests));
  const publishes = hasCondition(probe.version ?? '');
  const needs = needsOf(options.commands, { policies, bornInPool, controller: manifest }).filter(
    ({ command }) => publishes || command !== PUBLISHES,
  );
  const [state, crd, names, permissions, controllerPermissions, controller] = await Promise.all([
    read,
    findCrd(options.crd, connection, read),
    unlessRefused(async () =>
      checkNames(await connection.crd.otherGroups(), await formerRoles(manifest, connection.manifests)),
    ),
    unlessRefused(() => checkPermissions(needs, port)),
    unlessRefused(async () => checkControllerPermissions(manifest, await drainedPools(read), findDeployment, port)),
    unlessRefused(() => checkController(leases, { controllerNamespace, findDeployment })),
  ]);
  const policiesFound = await off;
  const known = 'value' in policiesFound ? policiesFound.value : undefined;
  const isMissing = crd.status === 'error' && 'refusal' in state.pools;
  return {
    kubeconfig,
    server: checkServer(port.access, probe),
    version: checkVersion(probe),
    crd,
    names,
    permissions,
    'controller-permissions': controllerPermissions,
    policies: await findPolicies(policiesFound, await born, findDeployment),
    controller,
    clock: checkClock(probe),
    ...(isMissing ? {} : stateFindings(state, { policiesOff: known, now: now() })),
    why:
      isMissing && isNotServed(state.pools)
        ? 'the NodePool resource is not served'
        : 'pools or nodes could not be read',
  };
}

/** Considers only pools that can be read. */
async function drainedPools(read: Promise<DoctorState>): Promise<string[]> {
  const { pools } = await read;
  if ('refusal' in pools) return [];
  return pools.value.filter(({ spec }) => spec.noExecute === 'Drain').map(({ metadata }) => metadata.name);
}

/** If the server refuses the user, or is overloaded, nothing is known about the resource. */
function isNotServed(pools: DoctorState['pools']): boolean {
  if ('value' in pools) return false;
  const { refusal } = pools;
  return !(refusal instanceof ForbiddenError) && !refusal.isGeneral && !refusal.isTransient;
}

/** If the user may not read the CRD, pools that can be listed prove that it exists. */
async function findCrd(
  expected: Record<string, unknown>,
  connection: Connection,
  read: Promise<DoctorState>,
): Promise<CheckFinding> {
  const live = await valueOrRefusal(() => connection.crd.get());
  if ('value' in live) return checkCrd(expected, live.value);
  const { pools } = await read;
  if ('refusal' in pools) return failed(pools.refusal);
  if (pools.value.some(hasLostFields)) return error(LOST_FIELDS, MEND_LOST_FIELDS);
  const message = `the NodePool resource is served; the CRD was not compared with this version: ${live.refusal.message}`;
  return { status: 'ok', message, details: [] };
}

async function findPolicies(
  found: ValueOrRefusal<string[]>,
  born: ValueOrRefusal<BornInPool>,
  findDeployment: FindDeployment,
): Promise<CheckFinding> {
  if ('refusal' in found) return notChecked(found.refusal);
  if ('refusal' in born) return notChecked(born.refusal);
  // Users who may not read the controller's objects still learn what is missing.
  const deployment = await valueOrRefusal(findDeployment);
  return checkPolicies(found.value, 'value' in deployment ? deployment.value : undefined, born.value);
}

async function deploymentOf(
  manifest: readonly ManifestObject[],
  { manifests }: Connection,
): Promise<ManifestObject | undefined> {
  const deployment = manifest.find(({ kind }) => kind === 'Deployment');
  return deployment && manifests.get(deployment);
}

/** The namespace of the controller in the cluster, which also has its lease. */
function namespaceOf(manifest: readonly ManifestObject[]): string {
  return manifest.find(({ kind }) => kind === 'Deployment')?.metadata.namespace ?? '';
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}

// Checks of the kubeconfig, the connection to the server, its version and its clock.

/** The Kubernetes 1.x minor version that the CRD's rules need (optionalOldSelf in CEL). */
const OLDEST_MINOR = 30;
/** The newest minor version that this program is tested with: test/cluster/programs.ts. */
export const TRIED_MINOR = 36;

const CLOCK_WARNING_SECONDS = 5;
/** From this clock skew on, tokens and certificates start to be refused. */
const CLOCK_ERROR_SECONDS = 300;

export function checkKubeconfig({ context, cluster, user, source, verifiesServer }: AccessFacts): CheckFinding {
  const parts = [
    ...(context === undefined ? [] : [`context ${context}`]),
    `cluster ${cluster}`,
    user === '' ? 'no user' : `user ${user}`,
  ];
  const message = `${source}: ${parts.join(', ')}`;
  if (verifiesServer) return ok(message);
  return warning(
    `${message}; the server's identity is not verified`,
    `for cluster ${cluster}, set an https server and a certificate-authority, and remove insecure-skip-tls-verify`,
  );
}

/** The server treats requests without credentials, or with an unknown certificate, as requests of system:anonymous. */
function notLoggedIn({ server, user }: AccessFacts): CheckFinding {
  const who = user === '' ? 'the context names no user' : `the server ignores the credentials of user "${user}"`;
  return error(
    `not logged in to ${server}: ${who}; requests are sent as system:anonymous`,
    'log in, or choose another user with --user or --context',
  );
}

export function checkServer({ server }: AccessFacts, { latencyMs }: ServerProbe): CheckFinding {
  return ok(`${server} answers in ${Math.max(1, Math.round(latencyMs))} ms`);
}

export function checkVersion({ version }: ServerProbe): CheckFinding {
  if (version === undefined) {
    return warning('this user may not read the server version', 'ask for the role system:public-info-viewer');
  }
  const [, major, minor = ''] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major !== '1') {
    return warning(
      `unknown server version "${version}"`,
      `check that the server is Kubernetes 1.${OLDEST_MINOR} or newer`,
    );
  }
  if (Number(minor) < OLDEST_MINOR) {
    return error(`Kubernetes ${version} is too old`, `upgrade the cluster to 1.${OLDEST_MINOR} or newer`);
  }
  // Kubernetes supports clients with a skew of one minor version.
  if (Number(minor) > TRIED_MINOR + 1) {
    return warning(
      `Kubernetes ${version} is more than one minor version newer than 1.${TRIED_MINOR}, the newest tested version`,
      'install a newer kubectl-nodepool',
    );
  }
  return ok(`Kubernetes ${version}`);
}

/** How far the server's clock is ahead of the local one, in milliseconds. The Date header only has whole seconds. */
export function clockSkewMs({ clocks }: ServerProbe): number | undefined {
  return clocks && clocks.server.getTime() + 500 - clocks.ours.getTime();
}

export function checkClock(probe: ServerProbe): CheckFinding {
  const skew = clockSkewMs(probe);
  if (skew === undefined) return ok('the server sends no Date header');
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (seconds < CLOCK_WARNING_SECONDS) return ok("this machine's clock agrees with the server's");
  const message = `this machine's clock is ${seconds} s ${skew > 0 ? 'behind' : 'ahead of'} the server's`;
  const remedy = 'synchronize the wrong clock (NTP)';
  return seconds < CLOCK_ERROR_SECONDS ? warning(message, remedy) : error(message, remedy);
}

// Whether the CRD is installed, and whether it is the one of this version of the program.

const INSTALL = 'run `kubectl nodepool install`';

type Json = Record<string, unknown>;

/** @param expected the manifest @param live the CRD on the server; undefined if there is none */
export function checkCrd(expected: Json, live: Json | undefined): CheckFinding {
  if (live === undefined) return error('the CRD nodepools.nodes.lailin.xyz is not installed', INSTALL);
  const install = installRemedy(live);
  const metadata = objectAt(live, 'metadata');
  if (metadata.deletionTimestamp !== undefined) {
    return error(
      'the CRD nodepools.nodes.lailin.xyz and all pools are being deleted',
      `run \`kubectl nodepool reconcile\` to release the nodes and finish the deletion; then ${install}`,
    );
  }
  const refused = conditions(live).find(({ type, status }) => NEEDED.includes(String(type)) && status !== 'True');
  if (refused !== undefined) {
    return error(
      `the NodePool resource is not served: ${refused.message ?? refused.reason}`,
      'see its conditions: kubectl describe crd nodepools.nodes.lailin.xyz',
    );
  }
  const lacking = listOf(objectAt(expected, 'spec').versions).flatMap(version => missingIn(version, live));
  if (lacking.length > 0) {
    return error('the CRD is from another version and lacks fields of this version', install, lacking);
  }
  const differing = differences(objectAt(expected, 'spec'), objectAt(live, 'spec'), 'spec');
  if (differing.length > 0) {
    return warning('the CRD is from another version: its rules differ', install, differing);
  }
  return ok('the CRD is installed and up to date');
}

/** The CRD keeps the labels of a Helm release that was uninstalled. */
function installRemedy(live: Json): string {
  const release = helmReleaseOf(live);
  if (release === undefined) return INSTALL;
  return `run \`${helmUpgrade(release)}\`, or \`kubectl nodepool install\` if that Helm release is gone`;
}

const NEEDED = ['NamesAccepted', 'Established'];

/** What the server would drop or refuse: versions that it does not serve, and fields that it does not know. */
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

function missingFields(expected: Json, live: Json, path: string): string[] {
  if (live['x-kubernetes-preserve-unknown-fields'] === true) return [];
  const known = objectAt(live, 'properties');
  const fields = Object.entries(objectAt(expected, 'properties')).flatMap(([name, schema]) => {
    const field = path === '' ? name : `${path}.${name}`;
    const other = ownValue(known, name);
    if (!isObject(schema)) return [];
    return isObject(other) ? missingFields(schema, other, field) : [`field ${field} is missing`];
  });
  const items = isObject(expected.items) ? missingFields(expected.items, objectAt(live, 'items'), `${path}[]`) : [];
  return [...fields, ...items];
}

/** Paths at which they differ, nearest to the root; what the server adds beside `versions` does not count. */
function differences(expected: Json, live: Json, path: string): string[] {
  return Object.keys(expected).flatMap(key => {
    const [a, b] = [ownValue(expected, key), ownValue(live, key)];
    const field = `${path}.${key}`;
    if (key === 'versions') return deepEqual(a, b) ? [] : versionDifferences(listOf(a), listOf(b), field);
    if (isObject(a) && isObject(b)) return differences(a, b, field);
    return deepEqual(a, b) ? [] : [field];
  });
}

function versionDifferences(expected: Json[], live: Json[], path: string): string[] {
  const names = new Set([...expected, ...live].map(({ name }) => String(name)));
  return [...names].flatMap(name => {
    const [a, b] = [expected, live].map(versions => versions.find(version => version.name === name));
    const field = `${path}[${name}]`;
    if (a === undefined || b === undefined) return [field];
    return Object.keys({ ...a, ...b }).flatMap(key =>
      deepEqual(ownValue(a, key), ownValue(b, key)) ? [] : [`${field}.${key}`],
    );
  });
}

function conditions(crd: Json): Json[] {
  return listOf(objectAt(crd, 'status').conditions);
}

function objectAt(object: Json, key: string): Json {
  const value = ownValue(object, key);
  return isObject(value) ? value : {};
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
