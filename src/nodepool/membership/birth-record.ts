/**
 * The birth record of a node that was born in a pool: manifests/born-in-pool.yaml gave it labels, taints and annotations as it
 * registered, and wrote them into the annotation BORN_ANNOTATION. It has the form of a record without displaced values,
 * as the policy replaces nothing, and counts as one until the first write of the node (docs/decisions/0042). A birth record without a
 * pool says that the node waits for one that is paused (docs/decisions/0044): nothing was given, and the node has not joined.
 *
 * Not guaranteed: that the birth record is authentic. As for the record, manifests/protect-records.yaml denies kubelets to send
 * it with a new node or to change it.
 */
import type { AppliedRecord, AppliedSlot } from '../plan/record.ts';
import { taintId } from '../spec/taints.ts';
import { BORN_ANNOTATION, type Node, RECORD_ANNOTATION } from '../types.ts';

type Annotations = Readonly<Record<string, string>>;

/** How the birth record of a node begins that waits for a paused pool. Any other begins with the pool. */
const WAITING = '{"since":"';

/** Of the annotations of a node: the record, or else the birth record if it names a pool. An empty record does not hide the birth record. */
export function recordIn(annotations: Annotations = {}): string | undefined {
  const { [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: birth } = annotations;
  return hasRecord(record) || !isNamingPool(birth) ? record : birth;
}

export function birthRecordIn(annotations: Annotations = {}): Pick<Node, 'birthRecord'> {
  const { [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: birth } = annotations;
  if (birth === undefined) return {};
  return { birthRecord: hasRecord(record) || !isNamingPool(birth) ? 'unused' : 'record' };
}

/** An empty one counts as absent. */
function hasRecord(record: string | undefined): boolean {
  return record !== undefined && record !== '';
}

function isNamingPool(birth: string | undefined): boolean {
  return birth !== undefined && !birth.startsWith(WAITING);
}

/** A slot that was changed since is somebody else's: it is kept, and restored as any other that a pool displaces. */
export function unchangedSlots(birth: AppliedRecord, { labels, taints, annotations = {} }: Node): AppliedRecord {
  const liveTaints = Object.fromEntries(taints.map(taint => [taintId(taint), taint.value ?? '']));
  return {
    pool: birth.pool,
    labels: unchanged(birth.labels, labels),
    taints: unchanged(birth.taints, liveTaints),
    annotations: unchanged(birth.annotations, annotations),
    // One that is gone or changed was removed by somebody, and is not set again (startup-taints.ts).
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
