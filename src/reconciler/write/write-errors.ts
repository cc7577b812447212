/** Errors of writes: that a node is at its limit, or that the server stored something else. */
import type { NodesClient } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type Change, fieldPath } from '../../nodepool/plan/change.ts';
import { dueOf, type NodePatch, type NodePlan } from '../../nodepool/plan/plan.ts';
import { areAnnotationsKnown } from '../../nodepool/spec/annotations.ts';
import { taintId } from '../../nodepool/spec/taints.ts';
import { ellipsize, firstFew } from '../../nodepool/text.ts';
import { type Node, RECORD_ANNOTATION } from '../../nodepool/types.ts';
import { MAX_WRITES } from '../limits/rate-limiters.ts';
import { patchedNode } from '../plan/node-plan.ts';

/** Changes that the message names. */
const MAX_NAMED = 3;
/** Bytes of a value in the message; only annotations have longer ones. */
const MAX_VALUE_LENGTH = 200;

/** For a node at its limit of writes. @param changes that are to be written @param isContested other writers made them necessary */
export async function limitError(
  node: string,
  changes: readonly Change[],
  isContested: boolean,
  nodes: Pick<NodesClient, 'fieldManager'>,
): Promise<NodepoolError> {
  const limit = `node ${node} was written ${MAX_WRITES} times within a minute, which is the limit`;
  const theirs = changes.filter(({ reason }) => reason === 'drift' || reason === 'unmanaged').slice(0, MAX_NAMED);
  const [first] = theirs;
  if (!isContested || first === undefined) {
    return new NodepoolError(
      'cluster',
      limit,
      'wait a minute, and find out what changes its pool or its labels so often',
    );
  }
  const manager = await managerOf(node, first, nodes);
  const who = manager === undefined ? 'something else' : `something else (field manager ${manager})`;
  return new NodepoolError(
    'cluster',
    `${limit}: ${who} keeps ${theirs.map(describe).join(', ')}`,
    'stop it, or take what it changes out of the pool',
  );
}

/** Undefined also where the node cannot be read: the name is optional in messages. */
export async function managerOf(
  node: string,
  change: Change,
  nodes: Pick<NodesClient, 'fieldManager'>,
): Promise<string | undefined> {
  try {
    return await nodes.fieldManager(node, fieldPath(change));
  } catch (error) {
    if (error instanceof NodepoolError) return undefined;
    throw error;
  }
}

/** What others did, which the change repairs. */
function describe({ kind, key, effect, from, to }: Change): string {
  const slot = `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
  if (from === undefined) return `removing ${slot}`;
  const [theirs, ours] = [from, to ?? ''].map(value => ellipsize(value, MAX_VALUE_LENGTH));
  return to === undefined ? `setting ${slot} to "${theirs}"` : `changing ${slot} from "${ours}" to "${theirs}"`;
}

// What the server stored differs from what was sent: mutating admission policies and webhooks can change every write.

/** A label, a taint, an annotation, the record, a field. */
export interface Altered {
  name: string;
  sent: string | undefined;
  found: string | undefined;
}

const LABEL = 'label ';
const ANNOTATION = 'annotation ';
const RECORD = ANNOTATION + RECORD_ANNOTATION;

/**
 * What differs from what was sent, where the write set it, the next plan would undo it, or it gives the node to another
 * pool. Other changes of the server, as a label that no pool sets, are ignored.
 * @param next gives the plan for the node as the server answered it
 * @param decides whether pools select by a label, where it gave the node another owner than the write meant
 */
export function alteredSlots(
  { node, patch }: { node: Node; patch: NodePatch },
  answer: Node,
  next: () => NodePlan | undefined,
  decides: (label: string) => boolean = () => false,
): Altered[] {
  const [sent, found] = [slots(patchedNode(node, patch)), slots(answer)];
  const names = [...new Set([...sent.keys(), ...found.keys()])].filter(
    name => sent.get(name) !== found.get(name) && wasKnown(name, node, patch),
  );
  if (names.length === 0) return [];
  const before = slots(node);
  const repair = dueOf(next())?.patch;
  const repaired = repair === undefined ? found : slots(patchedNode(answer, repair));
  const givesAway = (name: string) => name.startsWith(LABEL) && decides(name.slice(LABEL.length));
  return names
    .filter(name => before.get(name) !== sent.get(name) || repaired.get(name) !== found.get(name) || givesAway(name))
    .map(name => ({ name, sent: sent.get(name), found: found.get(name) }));
}

/** Annotations that the node was read without may have been there before the write. */
function wasKnown(name: string, node: Node, patch: NodePatch): boolean {
  if (!name.startsWith(ANNOTATION) || name === RECORD) return true;
  const key = name.slice(ANNOTATION.length);
  const known = [...Object.keys(node.annotations ?? {}), ...Object.keys(patch.annotations ?? {})];
  return known.includes(key) || areAnnotationsKnown(node, undefined, [key]);
}

/** @param what was written, as `node a` */
export function alteredError(what: string, altered: readonly Altered[]): NodepoolError {
  const named = firstFew(altered.map(alteredText), MAX_NAMED, ', ', ', ');
  return new NodepoolError(
    'cluster',
    `${what} was changed by an admission policy or webhook while it was written: ${named}`,
    'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`, and let either it or the pool decide',
  );
}

function alteredText({ name, sent, found }: Altered): string {
  // Records are long, and not for people.
  if (name === RECORD) return `${name} was ${found === undefined ? 'removed' : 'replaced'}`;
  const [ours, theirs] = [sent, found].map(value => ellipsize(value ?? '', MAX_VALUE_LENGTH));
  if (sent === undefined) return `${name} was added with value "${theirs}"`;
  if (found === undefined) return `${name} was sent with value "${ours}" and removed`;
  return `${name} was sent with value "${ours}" and is "${theirs}"`;
}

function slots({ labels, taints, annotations = {}, record }: Node): Map<string, string> {
  return new Map([
    ...Object.entries(labels).map(([key, value]) => [LABEL + key, value] as const),
    ...taints.map(taint => [`taint ${taintId(taint)}`, taint.value ?? ''] as const),
    ...Object.entries(annotations).map(([key, value]) => [ANNOTATION + key, value] as const),
    ...(record === undefined ? [] : [[RECORD, record] as const]),
  ]);
}
