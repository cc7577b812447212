/**
 * Limits which resources of a node's status are read. A kubelet reports them, and the API server validates neither the
 * format of the names, nor their number, nor the size of a quantity.
 */
import { keyProblem } from '../spec/syntax.ts';
import { plural } from '../text.ts';
import type { Node, OmittedResources, ResourceList } from '../types.ts';
import { isBeyondLimits, MAX_DIGITS, quoteQuantity, sumResourceLists } from './quantity.ts';

/** For a node, and for a pool. A node with a dozen device plugins has about thirty. */
export const MAX_RESOURCES = 128;

/** Always kept. hugepages-* is not included: a kubelet can report any number of these. */
export const NATIVE_RESOURCES: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pods'];

const MAX_EXAMPLE_LENGTH = 80;

interface NodeResources {
  allocatable: ResourceList;
  /** Undefined if nothing was left out. */
  omitted: OmittedResources | undefined;
}

/** Leaves out unreadable quantities, which `doctor` and the pool's status report. */
export function sumAllocatable(nodes: readonly Node[]): ResourceList {
  return sumResourceLists(
    nodes.map(({ allocatable }) => allocatable),
    () => {},
  );
}

/** Native resources first, then by name, within the limits. Invalid quantities are kept: servers reject them. */
export function readResources(list: ResourceList): NodeResources {
  const names = Object.keys(list);
  const valid = names.filter(isQualifiedName);
  const readable = valid.filter(name => !isBeyondLimits(list[name] ?? '0'));
  if (readable.length === names.length && names.length <= MAX_RESOURCES)
    return { allocatable: list, omitted: undefined };
  const kept = readable.toSorted(byImportance).slice(0, MAX_RESOURCES);
  // The smallest name, so that the message does not depend on the order of the map.
  const [example = ''] = names.filter(name => !isQualifiedName(name)).toSorted();
  const [oversized] = valid.filter(name => isBeyondLimits(list[name] ?? '0')).toSorted();
  return {
    allocatable: Object.fromEntries(kept.map(name => [name, list[name] ?? '0'])),
    omitted: {
      unqualified: names.length - valid.length,
      example: example.slice(0, MAX_EXAMPLE_LENGTH),
      oversized: valid.length - readable.length,
      oversizedExample: oversized === undefined ? '' : `${oversized} ${quoteQuantity(list[oversized] ?? '0')}`,
      excess: readable.length - kept.length,
    },
  };
}

/** One sentence for each kind of resource that was left out. */
export function omittedTexts({ name, omittedResources }: Node): string[] {
  if (omittedResources === undefined) return [];
  const { unqualified, example, oversized, oversizedExample, excess } = omittedResources;
  return [
    ...(unqualified === 0
      ? []
      : [
          `node ${name}: ${plural(unqualified, 'resource')} without a qualified name, such as ${JSON.stringify(example)}`,
        ]),
    ...(oversized === 0
      ? []
      : [
          `node ${name}: ${plural(oversized, 'resource')} with a quantity of more than ${MAX_DIGITS} digits, such as ${oversizedExample}`,
        ]),
    ...(excess === 0 ? [] : [`node ${name}: ${plural(excess, 'resource')} beyond the first ${MAX_RESOURCES}`]),
  ];
}

/** IsQualifiedName of k8s.io/apimachinery: the rules of label keys. */
function isQualifiedName(name: string): boolean {
  return keyProblem(name) === undefined;
}

function byImportance(a: string, b: string): number {
  const [nativeA, nativeB] = [NATIVE_RESOURCES.includes(a), NATIVE_RESOURCES.includes(b)];
  if (nativeA !== nativeB) return nativeA ? -1 : 1;
  return a < b ? -1 : 1;
}

// Which resources are kept if there are too many: a kubelet can report any name, so the most reported come first.

/** Native resources first, then by the number of lists that contain them, then by name. */
export function sortByReports(names: readonly string[], lists: Iterable<Iterable<string>>): string[] {
  const reports = new Map<string, number>();
  for (const list of lists) for (const name of list) reports.set(name, (reports.get(name) ?? 0) + 1);
  const rank = (name: string) => (NATIVE_RESOURCES.includes(name) ? Infinity : (reports.get(name) ?? 0));
  return names.toSorted((a, b) => {
    const [first, second] = [rank(a), rank(b)];
    if (first !== second) return first > second ? -1 : 1;
    return a < b ? -1 : 1;
  });
}
