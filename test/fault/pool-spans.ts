/** Which specs the pools had when, and whether nodes were certainly theirs: a process may know a pool as it was a while ago. */
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { isSelected } from './expected.ts';
import type { NodeState, PoolState, Version } from './history.ts';

/** A watch that went silent is noticed after 45 s. */
export const STALE_MS = 60_000;

interface Span {
  /** In milliseconds; the last one has no end. */
  from: number;
  to: number;
  /** Undefined: there is no such pool, or it is being deleted. */
  spec: NodePoolSpec | undefined;
}

export class PoolSpans {
  readonly #spans = new Map<string, Span[]>();

  constructor(versions: readonly Version<PoolState>[]) {
    for (const { name, at, state } of versions) {
      const spans = this.#spans.get(name) ?? [{ from: Number.NEGATIVE_INFINITY, to: at, spec: undefined }];
      const last = spans.at(-1);
      if (last !== undefined) last.to = at;
      const spec = state === undefined || state.isDeleted ? undefined : state.spec;
      this.#spans.set(name, [...spans, { from: at, to: Number.POSITIVE_INFINITY, spec }]);
    }
  }

  names(): string[] {
    return [...this.#spans.keys()];
  }

  /** Those that the pool had in that time, or shortly before. */
  specs(pool: string, from: number, to: number): (NodePoolSpec | undefined)[] {
    const spans = this.#spans.get(pool) ?? [];
    return spans.filter(span => span.to >= from - STALE_MS && span.from <= to).map(({ spec }) => spec);
  }

  /**
   * Whether all these versions of a node were the pool's by all of its specs in that time.
   * @param isKnown a process knew such a spec: those before the first of them do not count
   */
  alwaysHad(
    pool: string,
    versions: readonly Version<NodeState>[],
    [from, to]: readonly [number, number],
    isKnown?: (spec: NodePoolSpec) => boolean,
  ): boolean {
    const specs = this.specs(pool, from, to);
    const first = specs.findIndex(spec => spec !== undefined && isKnown?.(spec));
    return specs
      .slice(Math.max(0, first))
      .every(
        spec =>
          spec !== undefined &&
          versions.every(({ state }) => state !== undefined && isSelected(pool, spec, state.labels)),
      );
  }
}
