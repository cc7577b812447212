/** Fields of the status that the server does not keep, since its CRD is another version's. */

import type { Warning } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import type { NodePoolStatus } from '../../nodepool/types.ts';

const RESOURCES = 'status.allocatable';
export const STATUS_SUBRESOURCE = 'subresources.status';
/** No decision of this program depends on it. */
export const UPDATED_COUNT = 'status.updatedNodeCount';

/** Paths of what was sent and is not in the answer: `status.conditions`, `status.conditions[].reason`. */
export function lackingFields(sent: NodePoolStatus, kept: NodePoolStatus | undefined): string[] {
  return [...new Set(missingIn(sent, kept ?? {}, 'status'))];
}

/** @param field a single value that is not in the answer, as `status.conditions[Ready].reason` @param lacking see lackingFields() */
export function isDropped(field: string, lacking: readonly string[]): boolean {
  const path = field.replace(/^(status\.conditions)\[[^\]]*\]/, '$1[]');
  return lacking.some(each => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
}

/** Fields that the server drops without an error: a subresource that is not served is a failure of its own. */
export function droppedFields(lacking: readonly string[]): string[] {
  return lacking.filter(path => path !== STATUS_SUBRESOURCE);
}

/** @param lacking of any number of pools; at least one */
export function lackingWarning(lacking: readonly string[]): Warning {
  const crd = 'the CRD nodepools.nodes.lailin.xyz';
  const what = lacking.includes(STATUS_SUBRESOURCE)
    ? 'serves no status subresource: the status of pools cannot be written'
    : `is of another version and drops ${[...new Set(lacking)].toSorted().join(', ')}`;
  return { message: `${crd} ${what}`, next: 'run `kubectl nodepool install`' };
}

function missingIn(sent: unknown, kept: unknown, path: string): string[] {
  if (Array.isArray(sent)) {
    if (!Array.isArray(kept)) return [path];
    // A schema drops no items; a missing one was removed by a policy or webhook.
    return sent.flatMap((item, at) => (kept[at] === undefined ? [] : missingIn(item, kept[at], `${path}[]`)));
  }
  if (!isObject(sent)) return [];
  if (!isObject(kept)) return [path];
  if (path === RESOURCES) {
    // Keys of a map: a schema keeps or drops them together.
    return Object.keys(sent).length > 0 && Object.keys(kept).length === 0 ? [path] : [];
  }
  return Object.entries(sent).flatMap(([key, value]) => {
    const field = `${path}.${key}`;
    return kept[key] === undefined ? [field] : missingIn(value, kept[key], field);
  });
}
