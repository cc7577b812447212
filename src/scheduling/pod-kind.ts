/** Which pods are alike: they differ in nothing but their names and nodes, so the scheduler has the same answer for them. */
import { sortedJson } from './sorted-json.ts';
import type { Pod } from './types.ts';

/** The same text for pods that are alike. */
export function kindOf({ name: _, nodeName: _node, requests, ...rest }: Pod): string {
  return sortedJson([rest, [...requests].map(([resource, amount]) => [resource, String(amount)])]);
}
