/** What follows a pool that was created or edited: reconciling it. */
import type { Written } from '../../cli/approve.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { noun } from '../../nodepool/plural.ts';
import type { Approve } from '../../operations/consent.ts';

/** Ends create and edit on a terminal; the stderr of a script stays empty. */
export function hintReconcile(names: readonly string[], { err, stderrIsTTY }: Pick<Io, 'err' | 'stderrIsTTY'>): void {
  if (!stderrIsTTY || names.length === 0) return;
  const pools = names.join(' ');
  err(
    `next: 'kubectl nodepool diff ${pools}' shows what would change, 'kubectl nodepool reconcile ${pools}' applies it`,
  );
}

/** For --reconcile. Returns the exit code. @param output with one, only the objects go to stdout */
export async function reconcileNext(
  names: readonly string[],
  { concurrency, output, approve }: { concurrency: number; output?: string | undefined; approve: Approve },
  deps: Deps,
  connection: Connection,
): Promise<number> {
  const { showReconcile } = await import('./show-reconcile.ts');
  const shown = output === undefined ? deps : { ...deps, io: { ...deps.io, out: deps.io.err } };
  return showReconcile({ pools: { names }, concurrency, dryRun: false, podCounts: false, approve }, shown, connection);
}

/** For the errors of a reconcile that the user refuses. @param done what was written before it */
export function notApplied(names: readonly string[], done: 'created' | 'edited'): Written {
  const [was, its] = names.length === 1 ? ['was', 'its'] : ['were', 'their'];
  return {
    message: `${noun(names.length, 'nodepool')} ${names.join(', ')} ${was} ${done}, and ${its} nodes were not changed`,
    command: `kubectl nodepool reconcile ${names.join(' ')}`,
  };
}
