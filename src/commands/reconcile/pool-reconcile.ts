/** One reconcile of a pool in `reconcile --watch`: logs what it did, and tells when the next one is due. */
import type { ReconcileResult } from '../../controller/controller.ts';
import type { Log } from '../../controller/log.ts';
import { NodepoolError, warningText } from '../../nodepool/errors.ts';
import { DroppedFieldsError } from '../../nodepool/spec/schema.ts';
import { STATUS_WORDS } from '../../nodepool/status/status.ts';
import { plural } from '../../nodepool/text.ts';
import type { NodePoolStatus } from '../../nodepool/types.ts';
import { nextReconcile, type PoolOutcome } from '../../reconciler/outcome.ts';
import type { Reconciler } from '../../reconciler/reconciler.ts';
import { lackingWarning, STATUS_SUBRESOURCE, UPDATED_COUNT } from '../../reconciler/write/status-writer.ts';

interface PoolReconcileDeps {
  log: Log;
  onChanged: (outcome: PoolOutcome) => void;
  onSuccess: (pool: string) => void;
  requeueAfter: (pool: string, ms: number) => void;
}

/** Delay between attempts while the CRD lacks fields: CRDs are not watched. */
const CRD_RETRY_MS = 10_000;
/** After errors that a retry alone does not fix, such as a missing permission. Roles and policies are not watched. */
const PERMANENT_RETRY_MS = 30_000;

export function poolReconcile(
  reconciler: Pick<Reconciler, 'reconcile'>,
  { log, onChanged, onSuccess, requeueAfter }: PoolReconcileDeps,
): (pool: string) => Promise<ReconcileResult> {
  const logLacking = lackingLog(log);
  return async name => {
    const outcome = await reconciler.reconcile(name).catch((error: unknown): ReconcileResult => {
      if (error instanceof NodepoolError && error.isPermanent) return { kind: 'error', error, ms: PERMANENT_RETRY_MS };
      if (!(error instanceof DroppedFieldsError)) throw error;
      logLacking(name, error.fields);
      return { kind: 'requeueAfter', ms: CRD_RETRY_MS };
    });
    if (!('pool' in outcome)) return outcome;
    if (hasChanged(outcome)) onChanged(outcome);
    if (outcome.status !== undefined && outcome.statusWritten) log('info', ...statusEntry(name, outcome.status));
    for (const warning of outcome.warnings) log('warning', `${name}: ${warningText(warning)}`);
    if (outcome.statusWritten || outcome.lacking.length > 0) logLacking(name, outcome.lacking);
    const next = nextReconcile(outcome);
    if (next.kind === 'changed') return { kind: 'requeue' };
    // The process is stopping, and the queue is already shut down.
    if (next.kind === 'interrupted') return { kind: 'requeueAfter', ms: 0 };
    const waiting = next.kind === 'error' ? next.rest : next;
    const dueMs = waiting.kind === 'done' ? undefined : waiting.ms;
    if (waitsForCrd(outcome)) return { kind: 'requeueAfter', ms: Math.min(CRD_RETRY_MS, dueMs ?? CRD_RETRY_MS) };
    if (next.kind !== 'error') {
      if (outcome.failures.length === 0) onSuccess(name);
      return dueMs === undefined ? { kind: 'done' } : { kind: 'requeueAfter', ms: dueMs };
    }
    // Throttled work has its own delay: a retry with backoff would come too early or too late.
    if (dueMs !== undefined) requeueAfter(name, dueMs);
    const error = new NodepoolError('cluster', next.failure.message, next.failure.next);
    return { kind: 'error', error, ...(next.isPermanent ? { ms: PERMANENT_RETRY_MS } : {}) };
  };
}

function hasChanged({ kind, statusWritten, moves, runtimeClass }: PoolOutcome): boolean {
  const wrote = statusWritten || moves.length > 0 || !['unchanged', 'foreign'].includes(runtimeClass.kind);
  return kind === 'released' || wrote;
}

/** Whether all remaining work only waits for fields that the CRD lacks. */
function waitsForCrd({ lacking, failures }: PoolOutcome): boolean {
  // A field that is only displayed waits for the next change or resync: it is not worth a request every 10 s.
  const needed = lacking.filter(field => field !== UPDATED_COUNT);
  return needed.length > 0 && failures.length === (lacking.includes(STATUS_SUBRESOURCE) ? 1 : 0);
}

/** Logs what the CRD lacks, once for all pools that lack the same. */
function lackingLog(log: Log): (pool: string, lacking: readonly string[]) => void {
  const said = new Map<string, string>();
  return (pool, lacking) => {
    if (lacking.length === 0) {
      said.delete(pool);
      return;
    }
    const text = warningText(lackingWarning(lacking));
    if (![...said.values()].includes(text)) log('warning', text);
    said.set(pool, text);
  };
}

function statusEntry(pool: string, { status, nodeCount, readyNodeCount = 0 }: NodePoolStatus) {
  const word = STATUS_WORDS[status];
  const message = `status of pool ${pool}: ${status} ${word}, ${readyNodeCount} of ${plural(nodeCount, 'node')} ready`;
  return [message, { pool, status, nodeCount, readyNodeCount }] as const;
}
