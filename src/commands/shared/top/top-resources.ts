/** Which resources `top` gives figures of. */

import type { Demand } from '../../../kube/ports/pods.ts';
import { plural } from '../../../nodepool/plural.ts';
import { MAX_RESOURCES } from '../../../nodepool/quantity/node-resources.ts';
import { inResourceOrder, usualResources } from '../../../nodepool/quantity/resource-names.ts';
import { sortByReports } from '../../../nodepool/status/most-reported.ts';
import { suggest } from '../../../nodepool/suggest.ts';
import type { Node } from '../../../nodepool/types.ts';

/** By name, every one that there is any of, or cpu, memory, pods and accelerators. */
export type Choice = readonly string[] | 'all' | 'usual';

/** The names in order, and a sentence on each that no node and no pod knows, and on those that are too many to show. */
export function chooseResources(
  choice: Choice,
  nodes: readonly Node[],
  demand: Demand | undefined,
): { resources: string[]; warnings: string[] } {
  const { known, offered } = resourcesOf(nodes);
  const asked = new Set<string>();
  for (const { requests } of demand?.byNode.values() ?? []) for (const name of requests.keys()) asked.add(name);
  // Where a device plugin died a node has none of what its pods hold.
  if (choice === 'usual') return mostOf(usualResources([...offered, ...asked]), nodes, demand);
  if (choice === 'all') return mostOf(inResourceOrder([...offered, ...asked]), nodes, demand);
  const unknown = choice.filter(name => !known.has(name) && !asked.has(name));
  const warnings = unknown.map(name => {
    const near = suggest(name, [...known]);
    return `no node has the resource "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
  });
  return { resources: [...new Set(choice)], warnings: nodes.length === 0 ? [] : warnings };
}

/** As many as a pool's status has: kubelets and pods may name any. */
function mostOf(resources: string[], nodes: readonly Node[], demand: Demand | undefined) {
  const more = resources.length - MAX_RESOURCES;
  if (more <= 0) return { resources, warnings: [] };
  const offers = nodes.map(({ allocatable }) => Object.keys(allocatable));
  const requests = [...(demand?.byNode.values() ?? [])].map(load => load.requests.keys());
  const kept = sortByReports(resources, [...offers, ...requests]).slice(0, MAX_RESOURCES);
  const warning = `${plural(more, 'more resource')} of nodes and pods ${more === 1 ? 'is' : 'are'} not shown; show them by name: --resources NAME,NAME`;
  return { resources: inResourceOrder(kept), warnings: [warning] };
}

/** Those that nodes name, and of them those that they have any of. */
function resourcesOf(nodes: readonly Node[]): { known: Set<string>; offered: Set<string> } {
  const known = new Set<string>();
  const offered = new Set<string>();
  for (const { allocatable } of nodes) {
    for (const name of Object.keys(allocatable)) {
      if (offered.has(name)) continue;
      known.add(name);
      if (allocatable[name] !== '0') offered.add(name);
    }
  }
  return { known, offered };
}
