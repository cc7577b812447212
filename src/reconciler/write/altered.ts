/** Alterations of a write by mutating policies and webhooks. Without a delay, each retry would be altered again. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { dueOf, type NodePatch, type NodePlan, type WritePlan } from '../../nodepool/plan/plan.ts';
import { areAnnotationsKnown } from '../../nodepool/spec/annotations.ts';
import { taintId } from '../../nodepool/spec/taints.ts';
import { ellipsize, firstFew } from '../../nodepool/text.ts';
import { type Node, RECORD_ANNOTATION } from '../../nodepool/types.ts';
import type { WriterOptions } from '../options.ts';
import { type NodeMove, WriteError } from '../outcome.ts';
import { nodePlan, patchedNode } from '../plan/node-plan.ts';

/** Maximum number of changes in the message. */
const MAX_NAMED = 3;
/** Maximum bytes of a value in the message; only annotations have longer ones. */
const MAX_VALUE_LENGTH = 200;

/** Throws WriteError if the server stored another value. @param before the earlier write of the node in this call */
export function assertNodeUnaltered(
  plan: WritePlan,
  answer: Node,
  { move, before }: { move: NodeMove; before: NodeMove | undefined },
  { state, writeLimiter }: WriterOptions,
): void {
  const { name, uid } = plan.node;
  const next = () => nodePlan(state, name);
  const givesAway = state.poolIndex.ownership(answer).owner !== plan.owner;
  const decides = (label: string) => givesAway && state.poolIndex.affectsMembership({ [label]: true });
  const altered = alteredOnNode(plan, answer, next, decides);
  if (altered.length === 0) {
    writeLimiter.unaltered(uid);
    return;
  }
  const error = alteredError(`node ${name}`, altered);
  const retryAfterMs = writeLimiter.altered(uid, dueOf(next())?.changes ?? [], error);
  // The move is reported without its changes, which the server altered; the owner of the node is correct.
  const isMoved = move.from !== move.to && answer.record === patchedNode(plan.node, plan.patch).record;
  throw new WriteError(error, {
    retryAfterMs,
    isThrottled: false,
    move: isMoved ? { ...move, changes: before?.changes ?? [] } : undefined,
  });
}

/** A label, taint, annotation, the record, or a field that the server stored with another value. */
export interface AlteredField {
  name: string;
  sent: string | undefined;
  found: string | undefined;
}

const LABEL = 'label ';
const ANNOTATION = 'annotation ';
const RECORD = ANNOTATION + RECORD_ANNOTATION;

/** Alterations that the next plan would undo, or that move the node; ignores labels that no pool sets. */
export function alteredOnNode(
  { node, patch }: { node: Node; patch: NodePatch },
  answer: Node,
  next: () => NodePlan | undefined,
  decides: (label: string) => boolean = () => false,
): AlteredField[] {
  const [sent, found] = [fieldsOf(patchedNode(node, patch)), fieldsOf(answer)];
  const names = [...new Set([...sent.keys(), ...found.keys()])].filter(
    name => sent.get(name) !== found.get(name) && wasKnown(name, node, patch),
  );
  if (names.length === 0) return [];
  const before = fieldsOf(node);
  const repair = dueOf(next())?.patch;
  const repaired = repair === undefined ? found : fieldsOf(patchedNode(answer, repair));
  const givesAway = (name: string) => name.startsWith(LABEL) && decides(name.slice(LABEL.length));
  return names
    .filter(name => before.get(name) !== sent.get(name) || repaired.get(name) !== found.get(name) || givesAway(name))
    .map(name => ({ name, sent: sent.get(name), found: found.get(name) }));
}

/** An annotation that was not read may have existed before the write. */
function wasKnown(name: string, node: Node, patch: NodePatch): boolean {
  if (!name.startsWith(ANNOTATION) || name === RECORD) return true;
  const key = name.slice(ANNOTATION.length);
  const known = [...Object.keys(node.annotations ?? {}), ...Object.keys(patch.annotations ?? {})];
  return known.includes(key) || areAnnotationsKnown(node, undefined, [key]);
}

/** @param what was written, such as `node a` */
export function alteredError(what: string, altered: readonly AlteredField[]): NodepoolError {
  const named = firstFew(altered.map(alteredText), MAX_NAMED, ', ', ', ');
  return new NodepoolError(
    'cluster',
    `an admission policy or webhook changed ${what} during the write: ${named}`,
    'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`, and set the value in only one place',
  );
}

function alteredText({ name, sent, found }: AlteredField): string {
  // Records are long, and not meant for people.
  if (name === RECORD) return `${name} was ${found === undefined ? 'removed' : 'replaced'}`;
  const [ours, theirs] = [sent, found].map(value => ellipsize(value ?? '', MAX_VALUE_LENGTH));
  if (sent === undefined) return `${name} was added with value "${theirs}"`;
  if (found === undefined) return `${name} was sent with value "${ours}" and removed`;
  return `${name} was sent with value "${ours}" and is "${theirs}"`;
}

function fieldsOf({ labels, taints, annotations = {}, record }: Node): Map<string, string> {
  return new Map([
    ...Object.entries(labels).map(([key, value]) => [LABEL + key, value] as const),
    ...taints.map(taint => [`taint ${taintId(taint)}`, taint.value ?? ''] as const),
    ...Object.entries(annotations).map(([key, value]) => [ANNOTATION + key, value] as const),
    ...(record === undefined ? [] : [[RECORD, record] as const]),
  ]);
}

/** @param what the content of the write, such as `the finalizers of pool a were` */
export function poolAlteredError(what: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `${what} changed by an admission policy or webhook during the write`,
    'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`',
  );
}
