/** What follows a pool that was created or edited: reconciling it. */
import type { Written } from '../../cli/approve.ts';
import type { Io } from '../../cli/io.ts';
import { noun } from '../../nodepool/plural.ts';

/** Ends create and edit on a terminal; the stderr of a script stays empty. */
export function hintReconcile(names: readonly string[], { err, stderrIsTTY }: Pick<Io, 'err' | 'stderrIsTTY'>): void {
  if (!stderrIsTTY || names.length === 0) return;
  const pools = names.join(' ');
  err(
    `next: 'kubectl nodepool diff ${pools}' shows what would change, 'kubectl nodepool reconcile ${pools}' applies it`,
  );
}

/** For the errors of a reconcile that the user refuses. @param done what was written before it */
export function notApplied(names: readonly string[], done: 'created' | 'edited'): Written {
  const [was, its] = names.length === 1 ? ['was', 'its'] : ['were', 'their'];
  return {
    message: `${noun(names.length, 'nodepool')} ${names.join(', ')} ${was} ${done}, and ${its} nodes were not changed`,
    command: `kubectl nodepool reconcile ${names.join(' ')}`,
  };
}
