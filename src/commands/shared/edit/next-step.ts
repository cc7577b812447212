/** The next step after a pool was created or edited: reconciling it. */
import { type ErrorIo, showNote } from '../../../cli/errors.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import type { RawPool } from '../../../kube/cluster.ts';
import type { Warning } from '../../../nodepool/errors.ts';
import { noun } from '../../../nodepool/text.ts';
import type { Approve, EarlierWrite } from '../consent/consent.ts';
import { valueOrRefusal } from '../refusals.ts';

/** Ends create and edit on a terminal; a script's stderr stays empty. @param withImpact see mayCostPods() */
export function hintReconcile(names: readonly string[], io: ErrorIo, withImpact = false): void {
  if (!io.stderrIsTTY || names.length === 0) return;
  const pools = names.join(' ');
  showNote(
    io,
    `next: \`kubectl nodepool diff ${pools}${withImpact ? ' --impact' : ''}\` shows the changes, \`kubectl nodepool reconcile ${pools}\` applies them`,
  );
}

export interface ReconcileNext {
  concurrency: number;
  approve: Approve;
  warn?: (warnings: readonly Warning[]) => void;
  /** After an edit of the nodeSelector: nodes whose release was shown. A reconcile asks about other nodes. */
  released?: ReadonlySet<string> | undefined;
  /** With -o, the only output to stdout: prints the pools after the reconcile, even if it failed. */
  print?: ((pools: RawPool[]) => Promise<void>) | undefined;
}

/** For --reconcile. Returns the exit code. @param pools as they were written */
export async function reconcileNext(
  pools: readonly RawPool[],
  { print, ...next }: ReconcileNext,
  deps: Deps,
  connection: Connection,
): Promise<number> {
  const { showReconcile } = await import('../reconcile/show-reconcile.ts');
  const names = pools.map(({ metadata }) => metadata.name);
  const choice = { ...next, pools: { names }, dryRun: 'none' as const, podCounts: false };
  if (print === undefined) return showReconcile(choice, deps, connection);
  try {
    return await showReconcile(choice, { ...deps, io: { ...deps.io, out: deps.io.err } }, connection);
  } finally {
    await print(await Promise.all(pools.map(pool => latest(pool, connection))));
  }
}

/** The current pool on the server; if it cannot be read or is another pool, the written one. */
async function latest(pool: RawPool, { cluster }: Connection): Promise<RawPool> {
  const read = await valueOrRefusal(() => cluster.pools.get(pool.metadata.name));
  const found = 'value' in read ? read.value : undefined;
  return found?.metadata.uid === pool.metadata.uid && found !== undefined ? found : pool;
}

/** For errors of a reconcile that the user declined. @param done what was written before it */
export function notApplied(names: readonly string[], done: 'created' | 'edited'): EarlierWrite {
  const [was, its] = names.length === 1 ? ['was', 'its'] : ['were', 'their'];
  return {
    message: `${noun(names.length, 'pool')} ${names.join(', ')} ${was} ${done}, and ${its} nodes were not changed`,
    command: `kubectl nodepool reconcile ${names.join(' ')}`,
  };
}
