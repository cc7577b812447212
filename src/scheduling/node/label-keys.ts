/** matchLabelKeys and mismatchLabelKeys of pod affinity and topology spread. */
import { own } from '../../nodepool/json.ts';
import type { LabelQuery, Requirement } from '../../nodepool/membership/label-query.ts';

/** The selector, and the values that the pod itself has for these keys. */
export function withLabelKeys(
  selector: LabelQuery | undefined,
  keys: readonly string[] | undefined,
  labels: Record<string, string>,
  operator: 'In' | 'NotIn' = 'In',
): LabelQuery | undefined {
  if (selector === undefined || keys === undefined) return selector;
  const more = keys.flatMap((key): Requirement[] => {
    const value = own(labels, key);
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  if (more.length === 0) return selector;
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...more] };
}
