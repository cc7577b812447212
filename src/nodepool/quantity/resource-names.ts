/** Which resources are displayed by default, and in which order. */

const FIRST = ['cpu', 'memory', 'pods'];

/** Accelerators as device plugins name them: nvidia.com/mig-1g.5gb, aws.amazon.com/neuron. */
const ACCELERATOR = /(?<![a-z])([qv]?gpu|[ntx]pu|mlu|dcu|hpu|mig-|neuron|gaudi|ascend|xe\b|i915)/i;

/** Whether it is an extended resource with the name of an accelerator. */
export function isAccelerator(resource: string): boolean {
  return resource.includes('/') && ACCELERATOR.test(resource);
}

/** cpu, memory and pods, then the others by name. */
export function inResourceOrder(resources: Iterable<string>): string[] {
  const names = new Set(resources);
  return [...FIRST.filter(name => names.delete(name)), ...[...names].toSorted()];
}

/** The resources that are displayed by default. @param offered resources that some node has */
export function usualResources(offered: Iterable<string>): string[] {
  return inResourceOrder([...FIRST, ...[...offered].filter(isAccelerator)]);
}
