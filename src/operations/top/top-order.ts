/** `--sort-by` of `top`. */

import { NodepoolError } from '../../nodepool/errors.ts';
import { compareQuantities } from '../../nodepool/quantity.ts';
import { isAccelerator, usualResources } from '../../nodepool/resource-names.ts';
import { type Figures, MEASURES, type Measure, percentOf, type Tally } from '../../nodepool/resource-usage.ts';
import { suggest } from '../../nodepool/suggest.ts';
import type { Choice } from './top-resources.ts';

export type SortKey =
  | { by: 'name' }
  | { by: 'nodes' }
  | { by: 'figure'; resource: string; measure: Measure | 'percent' };

const NEXT =
  'write name, nodes, RESOURCE (most of it requested first) or RESOURCE.MEASURE, as cpu.free, of one shown or in --resources';

const POD_NEXT = 'with --pods, write name, RESOURCE or RESOURCE.MEASURE, as cpu.requested';

/**
 * `name`, `nodes`, `RESOURCE` or `RESOURCE.MEASURE`; a resource alone means its percent, or what is allocatable where
 * pods are not read. Throws a usage error.
 * @param resources those there are figures of
 */
export function parseSortKey(text: string, resources: readonly string[], pods: boolean): SortKey {
  if (text === 'name' || text === 'nodes') return { by: text };
  if (resources.includes(text)) return { by: 'figure', resource: text, measure: pods ? 'percent' : 'allocatable' };
  const dot = text.lastIndexOf('.');
  const [resource, word] = [text.slice(0, Math.max(dot, 0)), text.slice(dot + 1)];
  if (!resources.includes(resource)) {
    const near = suggest(text, ['name', 'nodes', ...resources]);
    const meant = near === undefined ? '' : `; did you mean "${near}"?`;
    throw new NodepoolError('usage', `--sort-by: "${text}" is not shown${meant}`, NEXT);
  }
  const measure = word === 'percent' ? word : MEASURES.find(name => name === word);
  if (measure === undefined) {
    const all = [...MEASURES, 'percent'].join(', ');
    throw new NodepoolError('usage', `--sort-by: "${word}" is not a measure`, `choose one of ${all}`);
  }
  if (!pods && measure !== 'allocatable') {
    throw new NodepoolError('usage', `--sort-by: --no-pods leaves ${measure} unknown`, 'leave out --no-pods');
  }
  return { by: 'figure', resource, measure };
}

/** Throws a usage error where pods have no such figure, so that nothing would be sorted: see top-pods.ts. */
export function checkPodKey(text: string): void {
  const measure = ['free', 'maxFree'].find(name => text.endsWith(`.${name}`));
  const isPodless = text === 'nodes' || text === 'pods' || text.startsWith('pods.');
  if (measure === undefined && !isPodless) return;
  throw new NodepoolError('usage', `--sort-by: "${text}" is not known of a pod`, POD_NEXT);
}

/** Throws as parseSortKey() where no cluster could make it a key: nothing need be read for that. */
export function checkSortKey(text: string, choice: Choice, pods: boolean): void {
  if (typeof choice !== 'string') parseSortKey(text, choice, pods);
  else if (choice === 'usual' && !isAccelerator(text)) parseSortKey(text, usualResources([]), pods);
}

/** The most first, the unknown last; what is equal stays as it is, by name. */
export function sortTop<T extends { tally: Pick<Tally, 'nodes' | 'figures'> }>(rows: readonly T[], key: SortKey): T[] {
  if (key.by === 'name') return [...rows];
  if (key.by === 'nodes') return rows.toSorted((a, b) => b.tally.nodes - a.tally.nodes);
  const { resource, measure } = key;
  return rows.toSorted((a, b) => compare(b.tally.figures.get(resource), a.tally.figures.get(resource), measure));
}

function compare(a: Figures | undefined, b: Figures | undefined, measure: Measure | 'percent'): number {
  if (measure === 'percent') return ((a && percentOf(a.requested, a)) ?? -1) - ((b && percentOf(b.requested, b)) ?? -1);
  const [left, right] = [a?.[measure], b?.[measure]];
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  return compareQuantities(left, right);
}
