/** `uninstall --controller`: asks, deletes the controller's objects and prints their names. */

import { confirm } from '../../cli/confirm.ts';
import { showWarning } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { quotedNameOf } from '../../cli/object-name.ts';
import { textOf } from '../../operations/install/foreign-objects.ts';
import { type UninstallControllerOptions, uninstallController } from '../../operations/install/uninstall-controller.ts';
import type { ManifestObject } from '../../operations/ports.ts';

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
