/** `rollout history`: the revisions of a pool, as `kubectl rollout history` prints those of a workload. */
import { showNote, showWarning } from '../../cli/error-line.ts';
import { EXIT } from '../../cli/report-error.ts';
import { foreignWriter } from '../../nodepool/rollout/revisions.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import type { RolloutDeps } from './deps.ts';
import { revisionOf, rolloutHistory, whereToLook } from './rollout-history.ts';

/** @param revision 0: all. Returns the exit code. */
export async function history(
  name: string,
  { revision, output }: { revision: number; output: ObjectFormat | undefined },
  { io, connection }: RolloutDeps,
): Promise<number> {
  const found = await rolloutHistory(name, connection);
  const { pool, revisions } = found;
  const shown = revision === 0 ? revisions : [revisionOf(found, revision)];
  const [one] = shown;
  if (output === 'name') {
    for (const { metadata } of shown) io.out(`controllerrevision.apps/${metadata.name}`);
    return EXIT.done;
  }
  if (output !== undefined) {
    const { printObjects } = await import('../../print/printers.ts');
    io.out(printObjects(shown, output, revision === 0));
    return EXIT.done;
  }
  const { renderHistory, renderRevision } = await import('./print.ts');
  io.out(revision === 0 || one === undefined ? renderHistory(name, shown) : renderRevision(name, one));
  for (const each of shown) {
    const writer = foreignWriter(each);
    if (writer !== undefined) {
      showWarning(io, {
        message: `revision ${each.revision} was made by ${writer}, not by kubectl-nodepool`,
        next: `check its spec with \`kubectl nodepool rollout history ${name} --revision=${each.revision}\` before you undo to it`,
      });
    }
  }
  const next = one === undefined ? whereToLook(pool, revisions) : undefined;
  if (next !== undefined) showNote(io, `next: ${next}`);
  return EXIT.done;
}
