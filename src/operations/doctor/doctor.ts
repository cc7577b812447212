/** Runs all checks, in the order in which they depend on each other. */
import { ForbiddenError } from '../../nodepool/errors.ts';
import { hasLostFields, LOST_FIELDS, MEND_LOST_FIELDS } from '../../nodepool/takeover.ts';
import { LEASE_NAMESPACE } from '../../nodepool/types.ts';
import { type Attempt, attempt } from '../attempt.ts';
import { type BornInPool, bornInPoolOf, policiesOff } from '../install/admission-policies.ts';
import { hasCondition } from '../maintenance-condition.ts';
import type { Connection, ManifestObject } from '../ports.ts';
import {
  CHECKS,
  type Check,
  type CheckId,
  error,
  type Finding,
  failed,
  notChecked,
  skipped,
  unlessRefused,
} from './check.ts';
import { checkController, lookAtLeases } from './controller.ts';
import { checkCrd } from './crd.ts';
import type { FindDeployment } from './installed.ts';
import { checkNames, formerRoles } from './names.ts';
import { needsOf, PUBLISHES } from './needs.ts';
import { checkControllerPermissions, checkPermissions } from './permissions.ts';
import { checkPolicies } from './policies.ts';
import { checkClock, checkKubeconfig, checkServer, checkVersion, clockSkewMs, notLoggedIn } from './server.ts';
import { readState, type State, stateFindings } from './state.ts';

export interface DoctorOptions {
  /** The CRD that this version installs. */
  crd: Record<string, unknown>;
  /** The controller's objects, as this version installs them. */
  controller: readonly ManifestObject[];
  /** The same, of the admission policies. */
  policies: readonly ManifestObject[];
  /** The same, of the policy that gives new nodes what their pool gives. */
  bornInPool: readonly ManifestObject[];
  /** The names of this program's commands. */
  commands: readonly string[];
}

export type DoctorConnection = Pick<Connection, 'cluster' | 'crd' | 'manifests' | 'lease' | 'doctor'>;

export interface DoctorDeps {
  connect(): Promise<DoctorConnection>;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
}

type Findings = Partial<Record<CheckId, Finding>>;

/** Every check, in order; one that could not be made is skipped. Throws only when the command line is wrong. */
export async function doctor(options: DoctorOptions, deps: DoctorDeps): Promise<Check[]> {
  const { why, ...findings } = await examine(options, deps);
  return CHECKS.map(id => ({ id, ...(findings[id] ?? skipped(why)) }));
}

/** @returns what was found, and why nothing of the rest */
async function examine(
  options: DoctorOptions,
  { connect, now, sleep }: DoctorDeps,
): Promise<Findings & { why: string }> {
  const opened = await attempt(connect);
  if ('refusal' in opened) return { kubeconfig: failed(opened.refusal), why: 'the kubeconfig cannot be used' };
  const connection = opened.value;
  const port = await connection.doctor();
  const kubeconfig = checkKubeconfig(port.access);
  const probed = await attempt(() => port.probe());
  if ('refusal' in probed) return { kubeconfig, server: failed(probed.refusal), why: 'see the check server' };
  const probe = probed.value;
  if (probe.isAnonymous) return { kubeconfig, server: notLoggedIn(port.access), why: 'not logged in' };
  const { controller: manifest, policies, bornInPool } = options;
  const findDeployment = once(() => deploymentOf(manifest, connection));
  const own = namespaceOf(manifest);
  const leases = lookAtLeases({
    namespaces: [own, LEASE_NAMESPACE],
    lease: connection.lease,
    now: () => new Date(now().getTime() + (clockSkewMs(probe) ?? 0)),
    sleep,
  });
  const seen = attempt(() => leases);
  const controllerRuns = async () => {
    const found = await seen;
    // Where leases may not be read, one may run.
    return 'refusal' in found || found.value.some(({ isAlive }) => isAlive);
  };
  const read = readState(connection, port, { controllerRuns, sleep });
  const off = attempt(() => policiesOff(policies, connection.manifests));
  const born = attempt(() => bornInPoolOf(bornInPool, connection.manifests));
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
    unlessRefused(() => checkController(leases, { own, findDeployment })),
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

/** Of those that can be read. */
async function drainedPools(read: Promise<State>): Promise<string[]> {
  const { pools } = await read;
  if ('refusal' in pools) return [];
  return pools.value.filter(({ spec }) => spec.noExecute === 'Drain').map(({ metadata }) => metadata.name);
}

/** A server that refuses the user, or is overloaded, says nothing about the resource. */
function isNotServed(pools: State['pools']): boolean {
  if ('value' in pools) return false;
  const { refusal } = pools;
  return !(refusal instanceof ForbiddenError) && !refusal.isGeneral && !refusal.isTransient;
}

/** Of a user who may not read it: pools that can be listed show that there is one. */
async function findCrd(
  wanted: Record<string, unknown>,
  connection: DoctorConnection,
  read: Promise<State>,
): Promise<Finding> {
  const live = await attempt(() => connection.crd.get());
  if ('value' in live) return checkCrd(wanted, live.value);
  const { pools } = await read;
  if ('refusal' in pools) return failed(pools.refusal);
  if (pools.value.some(hasLostFields)) return error(LOST_FIELDS, MEND_LOST_FIELDS);
  const message = `the NodePool resource is served; its CRD was not compared with that of this version: ${live.refusal.message}`;
  return { status: 'ok', message, details: [] };
}

async function findPolicies(
  found: Attempt<string[]>,
  born: Attempt<BornInPool>,
  findDeployment: FindDeployment,
): Promise<Finding> {
  if ('refusal' in found) return notChecked(found.refusal);
  if ('refusal' in born) return notChecked(born.refusal);
  // A user who may not look for the controller still learns what is missing.
  const deployment = await attempt(findDeployment);
  return checkPolicies(found.value, 'value' in deployment ? deployment.value : undefined, born.value);
}

async function deploymentOf(
  manifest: readonly ManifestObject[],
  { manifests }: DoctorConnection,
): Promise<ManifestObject | undefined> {
  const deployment = manifest.find(({ kind }) => kind === 'Deployment');
  return deployment && manifests.get(deployment);
}

/** Of the controller in the cluster: its lease is there, too. */
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
