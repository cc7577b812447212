/** Removes the controller from the cluster. Pools, nodes and the CRD stay as they are. */

import type { DryRun, ManifestObject, ManifestsPort } from '../ports.ts';
import { servedOf } from './admission-policies.ts';
import { isForeign } from './foreign-objects.ts';
import { refuseHelmRelease } from './helm-release.ts';

export interface UninstallControllerDeps {
  manifests: ManifestsPort;
  /** Called once, before the first write, with the objects that exist; false ends the command. */
  confirm(found: ManifestObject[]): Promise<boolean>;
}

export type UninstallControllerOutcome = (
  | { kind: 'absent' }
  | { kind: 'declined' }
  /** With a dry run: what would have been deleted. */
  | { kind: 'deleted'; objects: ManifestObject[] }
) & {
  /** Those that have a name of ours and are somebody else's: they stay. */
  foreign: ManifestObject[];
};

export interface UninstallControllerOptions {
  /** Its objects and the policies, in the order of their creation. */
  controller: ManifestObject[];
  /** The policy that gives new nodes what their pool gives, and its binding. */
  bornInPool: ManifestObject[];
  dryRun: DryRun;
}

/** Throws NodepoolError when the server refuses. */
export async function uninstallController(
  { controller, bornInPool, dryRun }: UninstallControllerOptions,
  { manifests, confirm }: UninstallControllerDeps,
): Promise<UninstallControllerOutcome> {
  const [found, foreign]: [ManifestObject[], ManifestObject[]] = [[], []];
  // The Deployment before what its pods need to end well, and the namespace last.
  for (const object of [...(await servedOf(bornInPool, manifests)), ...controller].toReversed()) {
    const live = await manifests.get(object);
    refuseHelmRelease(live, 'uninstall');
    if (live !== undefined) (isForeign(object, live) ? foreign : found).push(live);
  }
  if (found.length === 0) return { kind: 'absent', foreign };
  if (dryRun === 'none' && !(await confirm(found))) return { kind: 'declined', foreign };
  if (dryRun !== 'client') for (const object of found) await manifests.delete(object);
  return { kind: 'deleted', objects: found, foreign };
}
