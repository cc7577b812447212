/** Which pods matter to the topology spread and the pod (anti-)affinity of others: of 50,000, a few. */
import { type LabelQuery, matchesQuery } from '../../nodepool/membership/label-query.ts';
import { Selectors } from '../node/label-index.ts';
import type { PodTraits } from '../types.ts';

/** Whether a selector of these pods, in whatever namespace, selects a pod. Undefined: they have none. */
export function countedBy(pods: readonly PodTraits[]): ((pod: Pick<PodTraits, 'labels'>) => boolean) | undefined {
  const asked = new Set(
    pods.flatMap(({ spread, affinity, antiAffinity }) => [...spread, ...affinity, ...antiAffinity]),
  );
  if (asked.size === 0) return undefined;
  const selectors = new Selectors<LabelQuery>();
  for (const { selector } of asked) if (selector !== undefined) selectors.add(selector, selector);
  return ({ labels }) => selectors.near(labels).some(selector => matchesQuery(selector, labels));
}
