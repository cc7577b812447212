/** `rollout history`: the revisions of a pool, as `kubectl rollout history` prints those of a workload. */
import { showNote } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { EXIT } from '../../cli/report-error.ts';
import { revisionOf, rolloutHistory, whereToLook } from '../../operations/rollout/rollout-history.ts';

/** @param revision 0: all. Returns the exit code. */
export async function history(
  name: string,
  { revision, output }: { revision: number; output: 'json' | 'yaml' | undefined },
  { io, connect }: Pick<Deps, 'io' | 'connect'>,
): Promise<number> {
  const found = await rolloutHistory(name, await connect());
  const { pool, revisions } = found;
  const shown = revision === 0 ? revisions : [revisionOf(found, revision)];
  const [one] = shown;
  if (output !== undefined) {
    const { printObjects } = await import('../../render/printers.ts');
    io.out(printObjects(shown, output, revision === 0));
    return EXIT.done;
  }
  const { renderHistory, renderRevision } = await import('../../render/rollout-history.ts');
  io.out(revision === 0 || one === undefined ? renderHistory(name, shown) : renderRevision(name, one));
  const next = one === undefined ? whereToLook(pool, revisions) : undefined;
  if (next !== undefined) showNote(io, `next: ${next}`);
  return EXIT.done;
}
