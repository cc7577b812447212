/** Installs or updates the CRD, and the controller if wanted. Idempotent. */
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject, own } from '../nodepool/json.ts';
import { attempt } from './attempt.ts';
import { refuseHelmRelease } from './helm-release.ts';
import type { CrdPort, DryRun, ManifestObject, ManifestsPort } from './ports.ts';

export interface InstallOptions {
  crd: Record<string, unknown>;
  /** The policies' and the controller's objects in the order of their creation; none when it is not wanted. */
  controller: ManifestObject[];
  dryRun: DryRun;
  /** How long the server may take to serve the new resource. */
  timeoutMs: number;
}

export interface InstallDeps {
  crd: CrdPort;
  manifests: ManifestsPort;
}

export type Applied = 'created' | 'configured' | 'unchanged';

export interface InstallOutcome {
  crd: Applied;
  /** The other API groups that serve nodepools; empty as well when the server does not tell. */
  otherGroups: string[];
  controller: {
    object: ManifestObject;
    applied: Applied;
    /** False when a server dry run could not look at it: its namespace is only about to be created. */
    checked: boolean;
  }[];
}

/** Resolves once nodepools can be created; throws NodepoolError when the server refuses or the time is over. */
export async function install(
  { crd, controller, dryRun, timeoutMs }: InstallOptions,
  ports: InstallDeps,
): Promise<InstallOutcome> {
  // The CRD stays after a release is gone, so it says nothing. Any other object may be what is left of one.
  const installed = await Promise.all(controller.map(ports.manifests.get));
  for (const live of installed) refuseHelmRelease(live, 'install');
  if (dryRun === 'client') return compare(crd, controller, installed, ports);
  const outcome: InstallOutcome = {
    crd: await ports.crd.apply(crd, { dryRun: dryRun === 'server' }),
    otherGroups: await otherGroups(ports),
    controller: [],
  };
  if (dryRun === 'none') await ports.crd.waitUntilEstablished(timeoutMs);
  for (const object of controller) {
    const applied = await ports.manifests.apply(object, { dryRun: dryRun === 'server' });
    if (applied !== 'no namespace') outcome.controller.push({ object, applied, checked: true });
    else if (dryRun === 'server') outcome.controller.push({ object, applied: 'created', checked: false });
    else throw namespaceGone(object);
  }
  return outcome;
}

/** For a warning, which is not worth an error. */
async function otherGroups({ crd }: InstallDeps): Promise<string[]> {
  const asked = await attempt(() => crd.otherGroups());
  return 'value' in asked ? asked.value : [];
}

async function compare(
  crd: Record<string, unknown>,
  controller: ManifestObject[],
  installed: (ManifestObject | undefined)[],
  ports: InstallDeps,
): Promise<InstallOutcome> {
  return {
    otherGroups: await otherGroups(ports),
    crd: wouldBe(crd, await ports.crd.get()),
    controller: controller.map((object, at) => ({ object, applied: wouldBe(object, installed[at]), checked: true })),
  };
}

/** Only the server knows which fields an earlier version of a manifest set: a server dry run shows them. */
function wouldBe(wanted: object, live: object | undefined): Applied {
  if (live === undefined) return 'created';
  return isWithin(wanted, live) ? 'unchanged' : 'configured';
}

/** The server adds defaults to what it is sent, and a list as long as ours has the same items in the same order. */
function isWithin(wanted: unknown, live: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, at) => isWithin(item, live[at]));
  }
  if (!isObject(wanted)) return wanted === live;
  return isObject(live) && Object.entries(wanted).every(([key, value]) => isWithin(value, own(live, key)));
}

function namespaceGone({ kind, metadata: { name, namespace } }: ManifestObject): NodepoolError {
  const text = `cannot create ${kind} ${name}: namespace ${namespace} was deleted in the meantime`;
  return new NodepoolError('cluster', text, 'run the command again');
}
