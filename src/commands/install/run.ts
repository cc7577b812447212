/** Installs or updates the CRD and, if requested, the controller. Idempotent. */

import { type Clock, sleep, systemClock } from '../../controller/clock.ts';
import type { AccessQuestion } from '../../kube/api/access-reviews.ts';
import type { DryRun } from '../../kube/cluster.ts';
import type { CrdPort } from '../../kube/resources/crd.ts';
import type { ManifestObject, ManifestsPort } from '../../kube/resources/manifests.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { FIELD_MANAGER, managedAt, readManagedFields } from '../../nodepool/managed-fields.ts';
import { type LabelQuery, matchesQuery } from '../../nodepool/membership/label-query.ts';
import { firstFew, resourceOf } from '../../nodepool/text.ts';
import { isAsWanted, isInForce, isPolicy } from '../shared/install/admission-policies.ts';
import {
  type HelmRelease,
  helmReleaseOf,
  refuseForeign,
  refuseHelmRelease,
  textOf,
} from '../shared/install/foreign-objects.ts';
import { grantsOf } from '../shared/permissions/needs.ts';
import { allPermitted, type Permitted, permitted, valueOrRefusal } from '../shared/refusals.ts';

export interface InstallOptions {
  crd: Record<string, unknown>;
  /** The objects of the policies and the controller in the order of creation; empty if not requested. */
  controller: ManifestObject[];
  /** The policy among them that older servers do not support. */
  bornInPool?: ManifestObject[];
  dryRun: DryRun;
  /** How long to wait until the server serves the new resource. */
  timeoutMs: number;
}

export interface InstallDeps {
  crd: CrdPort;
  manifests: ManifestsPort;
  /** Called with the risks before the first write if others may get permissions; throws to end the command. */
  agree?(risks: readonly string[]): Promise<void>;
}

export type ManifestResult = 'created' | 'configured' | 'unchanged';

export interface InstallOutcome {
  crd: ManifestResult;
  /** The Helm release of the updated CRD; it may be uninstalled, since Helm keeps the CRD. */
  crdRelease?: HelmRelease;
  /** The other API groups that serve nodepools; also empty if they are unknown. */
  otherGroups: string[];
  /** Why it is unknown whether others get the granted permissions; absent if it is known. */
  unread?: NodepoolError;
  controller: {
    object: ManifestObject;
    applied: ManifestResult;
    /** False if a server dry run could not check the object, because its namespace does not exist yet. */
    checked: boolean;
    /** Field managers whose additions to the policy, which would exclude requests, were removed; absent if none. */
    overruled?: string[];
  }[];
}

/** Resolves once nodepools can be created; throws NodepoolError if the server refuses or on timeout. */
export async function install(
  { crd, controller, bornInPool = [], dryRun, timeoutMs }: InstallOptions,
  ports: InstallDeps,
): Promise<InstallOutcome> {
  for (const object of bornInPool) if (!(await ports.manifests.isServed(object))) throw notServed(object);
  // The CRD outlives a Helm release and proves nothing. Any other object may be left over from one.
  const [live, ...installed] = await Promise.all([ports.crd.get(), ...controller.map(ports.manifests.get)]);
  refuseDeletion(live);
  for (const live of installed) refuseHelmRelease(live, 'install');
  refuseForeign(controller, installed);
  const grants = await beforeGrants(controller, installed, ports);
  const unread = 'forbidden' in grants ? { unread: grants.forbidden } : {};
  if (dryRun === 'client') return { ...(await compare(crd, live, controller, installed, ports)), ...unread };
  const outcome: InstallOutcome = {
    ...unread,
    crd: await ports.crd.apply(crd),
    otherGroups: await otherGroups(ports),
    controller: [],
  };
  const release = outcome.crd === 'configured' ? helmReleaseOf(await ports.crd.get()) : undefined;
  if (release !== undefined) outcome.crdRelease = release;
  if (dryRun === 'none') await ports.crd.waitUntilEstablished(timeoutMs);
  const written: ManifestObject[] = [];
  for (const object of controller) {
    const write = await ports.manifests.apply(object);
    if (write === 'no namespace') {
      if (dryRun !== 'server') throw namespaceGone(object);
      outcome.controller.push({ object, applied: 'created', checked: false });
      continue;
    }
    written.push(write.object);
    if (!isPolicy(object) || isInForce(object, write.object)) {
      outcome.controller.push({ object, applied: write.applied, checked: true });
    } else {
      // Server-side apply keeps list items of other managers, and one more condition can disable a policy.
      if (dryRun === 'none') await ports.manifests.replaceSpec(write.object, object.spec);
      outcome.controller.push({ object, applied: 'configured', checked: true, overruled: othersOf(write.object) });
    }
  }
  if (dryRun === 'none' && 'value' in grants)
    await refuseLateShares(grants.value, controller, written, ports.manifests);
  return outcome;
}

/** Throws if the Deployment's pods do not become available in time. */
export async function waitUntilAvailable(
  deployment: ManifestObject,
  timeoutMs: number,
  { get }: Pick<ManifestsPort, 'get'>,
  clock: Clock = systemClock,
): Promise<void> {
  const started = clock.now();
  const { name, namespace } = deployment.metadata;
  for (;;) {
    const read = await valueOrTransient(() => get(deployment));
    const { metadata, spec, status } = ('value' in read ? (read.value ?? {}) : {}) as LiveDeployment;
    const {
      observedGeneration = 0,
      replicas = 0,
      updatedReplicas: updated = 0,
      availableReplicas: available = 0,
    } = status ?? {};
    const wanted = spec?.replicas ?? 1;
    const isSeen = 'value' in read && observedGeneration >= (metadata?.generation ?? 0);
    // The available pods may still have the previous spec.
    const old = Math.max(0, replicas - updated);
    if (isSeen && available >= wanted && updated >= wanted && old === 0) return;
    if (clock.now() - started >= timeoutMs) {
      if ('transient' in read) throw read.transient;
      throw new NodepoolError(
        'cluster',
        `the controller is not available after ${timeoutMs / 1000} s: ${available} of ${wanted} pods are${old === 0 ? '' : `, and ${old} of these may run the earlier version`}`,
        `find the cause: kubectl -n ${namespace} describe deployment ${name}, and kubectl -n ${namespace} get pods`,
      );
    }
    await sleep(clock, POLL_MS);
  }
}

const POLL_MS = 1_000;

/** Throws errors that a retry does not fix. */
async function valueOrTransient<T>(read: () => Promise<T>): Promise<{ value: T } | { transient: NodepoolError }> {
  try {
    return { value: await read() };
  } catch (error) {
    if (!(error instanceof NodepoolError) || error.kind !== 'cluster' || error.isPermanent) throw error;
    return { transient: error };
  }
}

interface LiveDeployment {
  metadata?: { generation?: number };
  spec?: { replicas?: number };
  status?: { observedGeneration?: number; replicas?: number; availableReplicas?: number; updatedReplicas?: number };
}

/** The other field managers of its spec. */
function othersOf({ metadata }: ManifestObject): string[] {
  const entries = readManagedFields(metadata.managedFields).filter(entry => managedAt(entry, ['spec']) !== undefined);
  return [...new Set(entries.map(({ manager }) => manager))].filter(manager => manager !== FIELD_MANAGER);
}

/** Only for a warning: an error here does not fail the command. */
async function otherGroups({ crd }: InstallDeps): Promise<string[]> {
  const read = await valueOrRefusal(() => crd.otherGroups());
  return 'value' in read ? read.value : [];
}

async function compare(
  crd: Record<string, unknown>,
  live: Record<string, unknown> | undefined,
  controller: ManifestObject[],
  installed: (ManifestObject | undefined)[],
  ports: InstallDeps,
): Promise<InstallOutcome> {
  return {
    otherGroups: await otherGroups(ports),
    crd: wouldBe(crd, live),
    controller: controller.map((object, at) => ({
      object,
      applied: wouldBePolicy(object, installed[at]) ?? wouldBe(object, installed[at]),
      checked: true,
    })),
  };
}

/** A CRD that is being deleted accepts changes, and disappears as soon as its pools are gone. */
function refuseDeletion(live: Record<string, unknown> | undefined): void {
  const { deletionTimestamp } = (live?.metadata ?? {}) as { deletionTimestamp?: string };
  if (deletionTimestamp === undefined) return;
  throw new NodepoolError(
    'cluster',
    'the CRD nodepools.nodes.lailin.xyz and all pools are being deleted',
    'run `kubectl nodepool reconcile` to release the nodes and finish the deletion; then run the command again',
  );
}

/** Only the server knows which fields an earlier version set: use a server dry run to see them. */
function wouldBe(expected: object, live: object | undefined): ManifestResult {
  if (live === undefined) return 'created';
  // The server adds defaults to what it receives.
  return isAsWanted(expected, live, () => true) ? 'unchanged' : 'configured';
}

/** `configured` for a policy that differs from this version's; undefined for any other object. */
function wouldBePolicy(expected: ManifestObject, live: ManifestObject | undefined): ManifestResult | undefined {
  return live !== undefined && isPolicy(expected) && !isInForce(expected, live) ? 'configured' : undefined;
}

function notServed({ apiVersion, kind }: ManifestObject): NodepoolError {
  return new NodepoolError(
    'input',
    `the server does not serve ${kind} in ${apiVersion}, which --admission needs; nothing was changed`,
    'upgrade the server to Kubernetes 1.36 or later, or leave out --admission',
  );
}

function namespaceGone({ kind, metadata: { name, namespace } }: ManifestObject): NodepoolError {
  const text = `cannot create ${kind} ${name}: namespace ${namespace} was deleted meanwhile`;
  return new NodepoolError('cluster', text, 'run the command again');
}

// Who else gets the permissions that `install` adds to our roles. Our label proves nothing: anyone who may create roles
// and bindings can create a role of that name first, without rules, and bind it to herself, which grants nothing until
// `install` fills it (docs/decisions/0056). Once it is filled, the server's escalation checks prevent both.

const RBAC = 'rbac.authorization.k8s.io/v1';
const MAX_NAMED = 5;

/** A way in which others get a role's permissions, and the command that ends it. */
interface RoleShare {
  text: string;
  next: string;
  /** A role of the controller only; other roles are meant to be bound by admins. */
  isControllers: boolean;
}

interface RoleGrants {
  /** Roles that get new rules. */
  roles: readonly ManifestObject[];
  /** What the user agreed to. */
  shares: readonly RoleShare[];
}

/** Throws if others would get the controller's permissions, and asks if they may. @param live state of `objects` */
export async function beforeGrants(
  objects: readonly ManifestObject[],
  live: readonly (ManifestObject | undefined)[],
  { manifests, agree }: { manifests: ManifestsPort; agree?: (risks: readonly string[]) => Promise<void> },
): Promise<Permitted<RoleGrants>> {
  const roles = objects.filter((expected, at) => addedGrants(expected, live[at]).length > 0);
  const read = await permitted(sharesOf(roles, objects, live, manifests));
  const shares = 'value' in read ? read.value : [];
  const refused = shares.filter(({ isControllers }) => isControllers);
  if (refused.length > 0) {
    throw refusal(
      'input',
      `others would get the controller's permissions: ${textsOf(refused)}; nothing was changed`,
      refused,
    );
  }
  const risks = [
    ...(shares.length === 0 ? [] : [`others would get permissions on pools: ${textsOf(shares)}`]),
    ...earlierNamespace(objects, live),
  ];
  if (risks.length > 0) await agree?.(risks);
  return 'value' in read ? { value: { roles, shares } } : read;
}

/** Throws for bindings created between check and write. @param written `objects` on the server after the write */
export async function refuseLateShares(
  { roles, shares }: RoleGrants,
  objects: readonly ManifestObject[],
  written: readonly ManifestObject[],
  manifests: ManifestsPort,
): Promise<void> {
  const known = new Set(shares.map(({ text }) => text));
  const late = (await sharesOf(roles, objects, written, manifests)).filter(({ text }) => !known.has(text));
  if (late.length > 0) throw refusal('cluster', `others got permissions during the install: ${textsOf(late)}`, late);
}

async function sharesOf(
  roles: readonly ManifestObject[],
  objects: readonly ManifestObject[],
  live: readonly (ManifestObject | undefined)[],
  { list }: Pick<ManifestsPort, 'list'>,
): Promise<RoleShare[]> {
  if (roles.length === 0) return [];
  const ours = objects.filter(({ roleRef }) => roleRef !== undefined);
  const ourSubjects = new Set(ours.flatMap(subjectsOf));
  const isBinding = (object: ManifestObject) => roles.some(role => isOf(object, role));
  const [bindings = [], inNamespaces = [], aggregating = []] = await allPermitted([
    list({ apiVersion: RBAC, kind: 'ClusterRoleBinding' }, isBinding),
    list({ apiVersion: RBAC, kind: 'RoleBinding' }, isBinding),
    list({ apiVersion: RBAC, kind: 'ClusterRole' }, ({ aggregationRule }) => aggregationRule !== undefined),
  ]);
  return roles.flatMap(role => {
    const bound = [...bindings, ...inNamespaces].flatMap(binding => {
      const others = subjectsOf(binding).filter(subject => !ourSubjects.has(subject));
      if (!isOf(binding, role) || others.length === 0) return [];
      return [{ text: `${textOf(binding)} binds ${textOf(role)} to ${firstFew(others, MAX_NAMED)}`, of: binding }];
    });
    const aggregated = aggregating
      .filter(other => aggregates(other, role, live[objects.indexOf(role)]))
      .map(other => ({ text: `${textOf(other)} aggregates ${textOf(role)} by labels that others set`, of: role }));
    const isControllers = ours.some(binding => isOf(binding, role));
    return [...bound, ...aggregated].map(({ text, of }) => ({ text, next: deletionOf(of), isControllers }));
  });
}

function addedGrants(expected: ManifestObject, live: ManifestObject | undefined): AccessQuestion[] {
  const has = new Set((live === undefined ? [] : grantsOf(live)).map(grant => JSON.stringify(grant)));
  return grantsOf(expected).filter(grant => !has.has(JSON.stringify(grant)));
}

/** Whoever may run pods or create tokens in the namespace before the role is filled gets its permissions then. */
function earlierNamespace(objects: readonly ManifestObject[], live: readonly (ManifestObject | undefined)[]): string[] {
  const namespace = live.find(object => object?.kind === 'Namespace');
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return [];
  const added = objects.flatMap((expected, at) => addedGrants(expected, live[at]));
  // This permission defines the controller; later versions and flags add others.
  if (!added.some(({ verb, resource }) => verb === 'patch' && resource === 'nodes')) return [];
  const who = "users who can run pods or create tokens in this namespace get the controller's permissions";
  return [`namespace ${namespace.metadata.name} already exists: ${who}`];
}

function refusal(kind: 'input' | 'cluster', message: string, [first]: readonly RoleShare[]): NodepoolError {
  return new NodepoolError(kind, message, `${first?.next}, then run the command again`);
}

function textsOf(shares: readonly RoleShare[]): string {
  return firstFew(
    shares.map(({ text }) => text),
    MAX_NAMED,
    '; ',
    '; ',
  );
}

/** Selected by labels that others set, which stay when the role is applied. */
function aggregates(
  { aggregationRule }: ManifestObject,
  role: ManifestObject,
  live: ManifestObject | undefined,
): boolean {
  if (role.kind !== 'ClusterRole' || !isObject(aggregationRule)) return false;
  const { clusterRoleSelectors } = aggregationRule;
  const selectors: LabelQuery[] = Array.isArray(clusterRoleSelectors) ? clusterRoleSelectors.filter(isObject) : [];
  const ours = labelsOf(role);
  const all = { ...labelsOf(live), ...ours };
  return selectors.some(selector => matchesQuery(selector, all) && !matchesQuery(selector, ours));
}

function labelsOf(object: ManifestObject | undefined): Record<string, string> {
  return { ...(object?.metadata.labels as Record<string, string> | undefined) };
}

function isOf({ metadata: { namespace }, roleRef }: ManifestObject, role: ManifestObject): boolean {
  if (!isObject(roleRef) || roleRef.kind !== role.kind || roleRef.name !== role.metadata.name) return false;
  return role.kind === 'ClusterRole' || namespace === role.metadata.namespace;
}

function subjectsOf({ subjects }: ManifestObject): string[] {
  const known: Record<string, unknown>[] = Array.isArray(subjects) ? subjects.filter(isObject) : [];
  return known.map(({ kind, name, namespace }) =>
    [`${kind} ${name}`, ...(namespace === undefined ? [] : [`in namespace ${namespace}`])].join(' '),
  );
}

/** RBAC allows any name, even with spaces or like a flag: such names never appear in a command to paste. */
function deletionOf(object: ManifestObject): string {
  const { name, namespace } = object.metadata;
  if (!/^[a-z0-9][\w.:@-]*$/i.test(name)) return `delete ${textOf(object)}`;
  return `kubectl delete ${resourceOf(object.kind).slice(0, -1)} ${namespace === undefined ? '' : `-n ${namespace} `}${name}`;
}
