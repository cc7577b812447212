/** `uninstall --controller`: asks, deletes the controller's objects and prints their names. */
import { confirm } from '../../cli/confirm.ts';
import { showWarning } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import type { DryRun, ManifestObject, ManifestsPort } from '../../kube/connection.ts';
import { servedOf } from '../shared/install/admission-policies.ts';
import { isForeign, textOf } from '../shared/install/foreign-objects.ts';
import { refuseHelmRelease } from '../shared/install/helm-release.ts';
import { quotedNameOf } from '../shared/install/object-name.ts';

export interface RemoveOptions extends UninstallControllerOptions {
  yes: boolean;
}

/** Returns the exit code. Throws NodepoolError. */
export async function removeController({ yes, ...options }: RemoveOptions, deps: Deps): Promise<number> {
  const { io, connect } = deps;
  const { manifests } = await connect({ dryRun: options.dryRun !== 'none' });
  const ask = async (found: ManifestObject[]) => yes || confirm(io, `Delete ${found.map(quotedNameOf).join(', ')}?`);
  const outcome = await uninstallController(options, { manifests, confirm: ask });
  for (const object of outcome.foreign) {
    showWarning(io, `${textOf(object)} was not made by kubectl nodepool, and stays`);
  }
  switch (outcome.kind) {
    case 'absent':
      io.out('the controller is not installed');
      return 0;
    case 'declined':
      io.err('nothing was deleted');
      return 1;
    case 'deleted':
      for (const object of outcome.objects) io.out(`${quotedNameOf(object)} deleted${dryRunSuffix(options.dryRun)}`);
      return 0;
  }
}

// Removes the controller from the cluster. Pools, nodes and the CRD stay as they are.

interface UninstallControllerDeps {
  manifests: ManifestsPort;
  /** Called once, before the first write, with the objects that exist; false ends the command. */
  confirm(found: ManifestObject[]): Promise<boolean>;
}

type UninstallControllerOutcome = (
  | { kind: 'absent' }
  | { kind: 'declined' }
  /** With a dry run: what would have been deleted. */
  | { kind: 'deleted'; objects: ManifestObject[] }
) & {
  /** Those that have a name of ours and are somebody else's: they stay. */
  foreign: ManifestObject[];
};

interface UninstallControllerOptions {
  /** Its objects and the policies, in the order of their creation. */
  controller: ManifestObject[];
  /** The policy that gives new nodes what their pool gives, and its binding. */
  bornInPool: ManifestObject[];
  dryRun: DryRun;
}

/** Throws NodepoolError when the server refuses. */
async function uninstallController(
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
