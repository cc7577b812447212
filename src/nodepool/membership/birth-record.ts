/**
 * The birth record of a node that registered into a pool: manifests/born-in-pool.yaml set labels, taints and
 * annotations on the node and recorded them in BORN_ANNOTATION. It has the form of a record without displaced values
 * (the policy replaces nothing), and counts as the record until the first write of the node (docs/decisions/0042).
 * Without a pool, it says that the node waits for a paused pool (docs/decisions/0044): nothing was set, and the node
 * has not joined.
 *
 * Not guaranteed: that it is authentic. As for the record, manifests/protect-records.yaml denies kubelets to register a
 * node with it or to change it.
 */
import type { AppliedRecord, AppliedSlot } from '../plan/record.ts';
import { taintId } from '../spec/taints.ts';
import { BORN_ANNOTATION, type Node, RECORD_ANNOTATION } from '../types.ts';

type Annotations = Readonly<Record<string, string>>;

/** Start of the birth record of a node that waits for a paused pool. Any other starts with the pool. */
const WAITING = '{"since":"';

/** The record, or else the birth record if it names a pool. An empty record does not hide the birth record. */
export function recordIn(annotations: Annotations = {}): string | undefined {
  const { [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: birth } = annotations;
  return hasRecord(record) || !isNamingPool(birth) ? record : birth;
}

export function birthRecordIn(annotations: Annotations = {}): Pick<Node, 'birthRecord'> {
  const { [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: birth } = annotations;
  if (birth === undefined) return {};
  return { birthRecord: hasRecord(record) || !isNamingPool(birth) ? 'unused' : 'record' };
}

/** An empty record counts as absent. */
function hasRecord(record: string | undefined): boolean {
  return record !== undefined && record !== '';
}

function isNamingPool(birth: string | undefined): boolean {
  return birth !== undefined && !birth.startsWith(WAITING);
}

/** Without slots that changed since: those are kept, and later restored like any value that a pool displaces. */
export function unchangedSlots(birth: AppliedRecord, { labels, taints, annotations = {} }: Node): AppliedRecord {
  const liveTaints = Object.fromEntries(taints.map(taint => [taintId(taint), taint.value ?? '']));
  return {
    pool: birth.pool,
    labels: unchanged(birth.labels, labels),
    taints: unchanged(birth.taints, liveTaints),
    annotations: unchanged(birth.annotations, annotations),
    // Somebody removed a taint that is missing or changed; it is not set again (startup-taints.ts).
    startup: birth.startup,
  };
}

function unchanged(
  applied: ReadonlyMap<string, AppliedSlot>,
  live: Readonly<Record<string, string>>,
): ReadonlyMap<string, AppliedSlot> {
  const kept = [...applied].filter(
    ([id, { value }]) => value !== null && Object.hasOwn(live, id) && live[id] === value,
  );
  return new Map(kept.map(([id, { value }]) => [id, { value }]));
}
