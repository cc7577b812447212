import { EXIT, showNote, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import type { ControllerRevisionsClient, NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type ControllerRevision, foreignWriter, poolRevisions } from '../../nodepool/rollout/revisions.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import { existingPool, type NamesDeps } from '../shared/pools/not-found.ts';

/** @param revision 0: all. Returns the exit code. */
export async function history(
  name: string,
  { revision, output }: { revision: number; output: ObjectFormat | undefined },
  { io }: Deps,
  connection: Connection,
): Promise<number> {
  const found = await readRevisions(name, connection);
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
        message: `revision ${each.revision} was created by ${writer}, not by kubectl-nodepool`,
        next: `before an undo to this revision, check its spec: \`kubectl nodepool rollout history ${name} --revision=${each.revision}\``,
      });
    }
  }
  const next = one === undefined ? whereToLook(pool, revisions) : undefined;
  if (next !== undefined) showNote(io, `next: ${next}`);
  return EXIT.done;
}

interface RevisionsReader {
  cluster: NamesDeps & {
    pools: NodePoolsClient;
    revisions: ControllerRevisionsClient;
  };
}

export interface PoolRevisions {
  pool: RawPool;
  /** Oldest first. */
  revisions: ControllerRevision[];
}

/** Throws NodepoolError if the pool does not exist. */
export async function readRevisions(name: string, { cluster }: RevisionsReader): Promise<PoolRevisions> {
  const pool = await existingPool('rollout', name, cluster);
  return { pool, revisions: poolRevisions(pool, await cluster.revisions.list(name)) };
}

/** Throws NodepoolError with kubectl's message. */
function revisionOf({ pool, revisions }: PoolRevisions, number: number): ControllerRevision {
  const found = revisions.findLast(({ revision }) => revision === number);
  if (found !== undefined) return found;
  throw new NodepoolError('input', 'unable to find the specified revision', whereToLook(pool, revisions));
}

/** Throws NodepoolError, with kubectl's message, if another revision is rolled out. */
export async function assertLatest(name: string, wanted: number, deps: RevisionsReader): Promise<void> {
  const found = await readRevisions(name, deps);
  const { revision } = found.revisions.at(-1) ?? revisionOf(found, wanted);
  if (revision === wanted) return;
  const message = `desired revision (${wanted}) is different from the running revision (${revision})`;
  throw new NodepoolError('input', message, whereToLook(found.pool, found.revisions));
}

/** The next step for a revision that does not exist. */
export function whereToLook(
  { metadata: { name }, spec }: RawPool,
  revisions: readonly ControllerRevision[],
): string | undefined {
  if (revisions.length > 0) return `list the revisions with \`kubectl nodepool rollout history ${name}\``;
  if (spec.paused === true)
    return `run \`kubectl nodepool rollout resume ${name}\`; the next reconcile saves the first revision`;
  return `run \`kubectl nodepool reconcile ${name}\` to save the first revision`;
}
