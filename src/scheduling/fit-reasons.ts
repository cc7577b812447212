/** Why nodes do not take a pod: the scheduler's wording, the number of nodes, and details. */
import { amountTexts } from './node/resources.ts';
import type { UnfitReason } from './types.ts';

export interface FitReason {
  words: string;
  nodes: number;
  /** Details of the nodes, most frequent first: taints, labels. For a resource, one sentence. */
  details: string[];
}

interface CountedReason {
  nodes: number;
  details: Map<string, number>;
  short: NonNullable<UnfitReason['short']> | undefined;
}

/** Maximum details per reason. */
const SHOWN_DETAILS = 2;

/** `3 Insufficient cpu (2 requested, at most 1 free on a node)`; no number: words alone. @param isShort no details */
export function reasonsText(
  reasons: readonly (Omit<FitReason, 'nodes'> & { nodes: number | undefined })[],
  isShort = false,
): string {
  return reasons
    .map(({ nodes, words, details }) => {
      const shown = isShort ? [] : details.slice(0, SHOWN_DETAILS);
      const more = details.length > shown.length ? ', …' : '';
      return `${nodes === undefined ? '' : `${nodes} `}${words}${shown.length === 0 ? '' : ` (${shown.join(', ')}${more})`}`;
    })
    .join(', ');
}

/** Details are examples: each of thousands of nodes may have its own. */
const MAX_DETAILS = 100;

export class FitReasons {
  readonly #byWords = new Map<string, CountedReason>();

  /** Returns whether there are no reasons. @param reasons of one node, from the first rule that fails */
  add(reasons: readonly UnfitReason[]): boolean {
    for (const { words, detail, short } of reasons) {
      const counted = this.#of(words);
      counted.nodes++;
      if (short !== undefined) counted.short = roomier(counted.short, short);
      else if (detail !== undefined) count(counted.details, detail, 1);
    }
    return reasons.length === 0;
  }

  addAll(other: FitReasons): void {
    for (const [words, { nodes, details, short }] of other.#byWords) {
      const counted = this.#of(words);
      counted.nodes += nodes;
      if (short !== undefined) counted.short = roomier(counted.short, short);
      for (const [detail, times] of details) count(counted.details, detail, times);
    }
  }

  /** In the scheduler's order: sorted as texts that begin with the number. */
  list(): FitReason[] {
    const all = [...this.#byWords].map(([words, { nodes, details, short }]) => ({
      words,
      nodes,
      details: short === undefined ? mostFrequent(details) : [shortText(short)],
    }));
    const text = ({ nodes, words }: FitReason) => `${nodes} ${words}`;
    return all.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  }

  #of(words: string): CountedReason {
    let counted = this.#byWords.get(words);
    if (counted === undefined) {
      counted = { nodes: 0, details: new Map(), short: undefined };
      this.#byWords.set(words, counted);
    }
    return counted;
  }
}

function roomier(a: CountedReason['short'], b: NonNullable<UnfitReason['short']>): NonNullable<UnfitReason['short']> {
  return a === undefined || b.free > a.free ? b : a;
}

function count(details: Map<string, number>, detail: string, times: number): void {
  const before = details.get(detail);
  if (before !== undefined || details.size < MAX_DETAILS) details.set(detail, (before ?? 0) + times);
}

function mostFrequent(details: ReadonlyMap<string, number>): string[] {
  return [...details].toSorted(([, a], [, b]) => b - a).map(([detail]) => detail);
}

function shortText({ resource, requested, free }: NonNullable<UnfitReason['short']>): string {
  const [requestedText, freeText] = amountTexts(resource, requested, free > 0n ? free : 0n);
  return `${requestedText} requested, at most ${freeText} free on a node`;
}
