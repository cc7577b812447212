/**
 * The conditions of a node with the status True. Most nodes have Ready alone; the others share one list where they have the
 * same.
 */
import { keyProblem } from '../../nodepool/syntax.ts';
import { parseTime } from '../../nodepool/timestamp.ts';
import type { Node } from '../../nodepool/types.ts';

/** Of one node: its kubelet can report any number. */
const MAX_CONDITIONS = 64;
/** Number of lists that are shared, and the characters of each; others belong to one node. */
const MAX_LISTS = 1_000;
const MAX_SHARED_LENGTH = 1_000;

const lists = new Map<string, readonly string[]>();

interface WireCondition {
  type?: string;
  status?: string;
  /** RFC 3339. */
  lastTransitionTime?: unknown;
}

export function trueConditions(all: readonly WireCondition[]): Pick<Node, 'ready' | 'readySince' | 'conditions'> {
  const since = Math.floor(parseTime(String(all.find(({ type }) => type === 'Ready')?.lastTransitionTime)) / 1000);
  const readySince = Number.isNaN(since) ? {} : { readySince: since };
  let ready = false;
  const others: string[] = [];
  for (const { type = '', status } of all) {
    if (status !== 'True') continue;
    if (type === 'Ready') ready = true;
    // A pool can wait for no other.
    else if (keyProblem(type) === undefined) others.push(type);
  }
  return { ready, ...readySince, ...(others.length === 0 ? {} : { conditions: shared(others) }) };
}

function shared(types: string[]): readonly string[] {
  const kept = [...new Set(types)].sort().slice(0, MAX_CONDITIONS);
  const text = kept.join();
  const known = lists.get(text);
  if (known !== undefined) return known;
  if (lists.size < MAX_LISTS && text.length <= MAX_SHARED_LENGTH) lists.set(text, kept);
  return kept;
}
