/** Indexes by label: of thousands of workloads, a selector or a pod concerns only a few. */
import { ownValue } from '../../nodepool/json.ts';
import { type LabelQuery, matchesQuery, type Requirement } from '../../nodepool/membership/label-query.ts';
import type { PodTraits } from '../types.ts';

/** Labelled items, indexed by the labels that selectors use. */
export class ItemsByLabel<T extends { labels: Record<string, string> }> {
  readonly #all: T[] = [];
  /** By key, then by value; only for keys that were queried. */
  readonly #byKey = new Map<string, Map<string, T[]>>();

  add(item: T): void {
    this.#all.push(item);
    for (const [key, byValue] of this.#byKey) put(byValue, ownValue(item.labels, key), item);
  }

  /** A superset of the items that it selects. */
  near(selector: LabelQuery | undefined): readonly T[] {
    const equal = equalLabel(selector);
    if (equal === undefined) return this.#all;
    let byValue = this.#byKey.get(equal.key);
    if (byValue === undefined) {
      byValue = new Map();
      for (const item of this.#all) put(byValue, ownValue(item.labels, equal.key), item);
      this.#byKey.set(equal.key, byValue);
    }
    return byValue.get(equal.value) ?? [];
  }
}

/** Items with a selector, indexed by a label that it requires. */
export class ItemsBySelector<T> {
  readonly #anyLabels: T[] = [];
  /** By key, then by value: selectors use few keys. */
  readonly #byKey = new Map<string, Map<string, T[]>>();

  add(selector: LabelQuery | undefined, item: T): void {
    const equal = equalLabel(selector);
    if (equal === undefined) {
      this.#anyLabels.push(item);
      return;
    }
    const byValue = this.#byKey.get(equal.key) ?? new Map<string, T[]>();
    this.#byKey.set(equal.key, byValue);
    put(byValue, equal.value, item);
  }

  all(): T[] {
    return [...this.#anyLabels, ...[...this.#byKey.values()].flatMap(byValue => [...byValue.values()].flat())];
  }

  /** A superset of the items that select these labels. */
  near(labels: Record<string, string>): readonly T[] {
    let near: readonly T[] = this.#anyLabels;
    for (const [key, byValue] of this.#byKey) {
      const value = ownValue(labels, key);
      const found = value === undefined ? undefined : byValue.get(value);
      if (found !== undefined) near = near.length === 0 ? found : [...near, ...found];
    }
    return near;
  }
}

function equalLabel(selector: LabelQuery | undefined): { key: string; value: string } | undefined {
  const [first] = Object.entries(selector?.matchLabels ?? {});
  return first === undefined ? undefined : { key: first[0], value: first[1] };
}

function put<T>(lists: Map<string, T[]>, key: string | undefined, item: T): void {
  if (key === undefined) return;
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

// matchLabelKeys and mismatchLabelKeys of pod affinity and topology spread.

/** Adds the pod's own values of these keys to the selector. */
export function withLabelKeys(
  selector: LabelQuery | undefined,
  keys: readonly string[] | undefined,
  labels: Record<string, string>,
  operator: 'In' | 'NotIn' = 'In',
): LabelQuery | undefined {
  if (selector === undefined || keys === undefined) return selector;
  const more = keys.flatMap((key): Requirement[] => {
    const value = ownValue(labels, key);
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  if (more.length === 0) return selector;
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...more] };
}

// Which pods affect the topology spread and pod (anti-)affinity of others: a few out of 50,000.

/** Whether a selector of these pods selects a pod, ignoring namespaces. Undefined: they have no selectors. */
export function countedBy(pods: readonly PodTraits[]): ((pod: Pick<PodTraits, 'labels'>) => boolean) | undefined {
  const unique = new Set(
    pods.flatMap(({ spread, affinity, antiAffinity, replicas }) => {
      return [...spread, ...affinity, ...antiAffinity, ...(replicas?.own ?? [])];
    }),
  );
  if (unique.size === 0) return undefined;
  const selectors = new ItemsBySelector<LabelQuery>();
  for (const { selector } of unique) if (selector !== undefined) selectors.add(selector, selector);
  return ({ labels }) => selectors.near(labels).some(selector => matchesQuery(selector, labels));
}
