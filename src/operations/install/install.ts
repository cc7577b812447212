/** Installs or updates the CRD, and the controller if wanted. Idempotent. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { FIELD_MANAGER, managedAt, readManagedFields } from '../../nodepool/managed-fields.ts';
import { attempt } from '../attempt.ts';
import type { CrdPort, DryRun, ManifestObject, ManifestsPort } from '../ports.ts';
import { isInForce, isPolicy } from './admission-policies.ts';
import { isAsWanted } from './as-wanted.ts';
import { beforeGrants, refuseLateShares } from './bound-roles.ts';
import { refuseForeign } from './foreign-objects.ts';
import { type HelmRelease, helmReleaseOf, refuseHelmRelease } from './helm-release.ts';

export interface InstallOptions {
  crd: Record<string, unknown>;
  /** The policies' and the controller's objects in the order of their creation; none when it is not wanted. */
  controller: ManifestObject[];
  /** Of these, the policy that older servers do not have. */
  bornInPool?: ManifestObject[];
  dryRun: DryRun;
  /** How long the server may take to serve the new resource. */
  timeoutMs: number;
}

export interface InstallDeps {
  crd: CrdPort;
  manifests: ManifestsPort;
  /** Called before the first write where others may get rights, with how; throws to end the command. */
  agree?(risks: readonly string[]): Promise<void>;
}

export type Applied = 'created' | 'configured' | 'unchanged';

export interface InstallOutcome {
  crd: Applied;
  /** The Helm release to which the CRD belongs that was changed; it may be gone, as the CRD stays then. */
  crdRelease?: HelmRelease;
  /** The other API groups that serve nodepools; empty as well when the server does not tell. */
  otherGroups: string[];
  /** Why it is not known whether others get the rights that were granted; absent when it is. */
  unread?: NodepoolError;
  controller: {
    object: ManifestObject;
    applied: Applied;
    /** False when a server dry run could not look at it: its namespace is only about to be created. */
    checked: boolean;
    /** Field managers that had added to the policy what would exclude requests, and was removed; absent when nothing was. */
    overruled?: string[];
  }[];
}

/** Resolves once nodepools can be created; throws NodepoolError when the server refuses or the time is over. */
export async function install(
  { crd, controller, bornInPool = [], dryRun, timeoutMs }: InstallOptions,
  ports: InstallDeps,
): Promise<InstallOutcome> {
  for (const object of bornInPool) if (!(await ports.manifests.isServed(object))) throw notServed(object);
  // The CRD stays after a release is gone, so it says nothing. Any other object may be what is left of one.
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
      // Server-side apply leaves items of lists that another manager has added, and one condition more disables a policy.
      if (dryRun === 'none') await ports.manifests.replaceSpec(write.object, object.spec);
      outcome.controller.push({ object, applied: 'configured', checked: true, overruled: othersOf(write.object) });
    }
  }
  if (dryRun === 'none' && 'value' in grants)
    await refuseLateShares(grants.value, controller, written, ports.manifests);
  return outcome;
}

/** The other field managers of its spec. */
function othersOf({ metadata }: ManifestObject): string[] {
  const entries = readManagedFields(metadata.managedFields).filter(entry => managedAt(entry, ['spec']) !== undefined);
  return [...new Set(entries.map(({ manager }) => manager))].filter(manager => manager !== FIELD_MANAGER);
}

/** For a warning, which is not worth an error. */
async function otherGroups({ crd }: InstallDeps): Promise<string[]> {
  const asked = await attempt(() => crd.otherGroups());
  return 'value' in asked ? asked.value : [];
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

/** A CRD that is being deleted takes changes, and is gone as soon as its pools are. */
function refuseDeletion(live: Record<string, unknown> | undefined): void {
  const { deletionTimestamp } = (live?.metadata ?? {}) as { deletionTimestamp?: string };
  if (deletionTimestamp === undefined) return;
  throw new NodepoolError(
    'cluster',
    'the CRD nodepools.nodes.lailin.xyz is being deleted, and all pools with it',
    'run `kubectl nodepool reconcile`, which releases the nodes and so ends the deletion; then run the command again',
  );
}

/** Only the server knows which fields an earlier version of a manifest set: a server dry run shows them. */
function wouldBe(wanted: object, live: object | undefined): Applied {
  if (live === undefined) return 'created';
  // The server adds defaults to what it is sent.
  return isAsWanted(wanted, live, () => true) ? 'unchanged' : 'configured';
}

/** `configured` for a policy that differs from that of this version; undefined for any other object. */
function wouldBePolicy(wanted: ManifestObject, live: ManifestObject | undefined): Applied | undefined {
  return live !== undefined && isPolicy(wanted) && !isInForce(wanted, live) ? 'configured' : undefined;
}

function notServed({ apiVersion, kind }: ManifestObject): NodepoolError {
  return new NodepoolError(
    'input',
    `the server does not serve ${kind} in ${apiVersion}, which --admission needs; nothing was changed`,
    'upgrade it to Kubernetes 1.36 or later, or leave --admission out',
  );
}

function namespaceGone({ kind, metadata: { name, namespace } }: ManifestObject): NodepoolError {
  const text = `cannot create ${kind} ${name}: namespace ${namespace} was deleted in the meantime`;
  return new NodepoolError('cluster', text, 'run the command again');
}
