/** Nodes that an uncordon would open although this program has not cordoned them: somebody may still need them closed. */

import type { NodesClient } from '../../../kube/cluster.ts';
import { type CordonChange, needsOwner, planCordon } from '../../../nodepool/drain/plan-cordon.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import type { Node } from '../../../nodepool/types.ts';
import { attempt } from '../attempt.ts';
import type { Question } from '../consent/consent.ts';
import type { MaintenanceClient } from './maintenance.ts';

export interface ForeignCordon {
  node: Node;
  /** `kubectl-cordon, 2026-11-24T15:00:00Z`: the field manager, with the time of its last write to the node. */
  by: string;
}

/** Names in the question. */
const MAX_NODES = 5;
const PATH = ['spec', 'unschedulable'];

interface Deps {
  cluster: { nodes: Pick<NodesClient, 'fieldSetters'> };
  maintenance: Pick<MaintenanceClient, 'owner'>;
  now: () => Date;
}

/**
 * Asks for the metadata of each node that would be opened. A cordon by this program itself, in an earlier run as in this one, is
 * nobody else's.
 */
export async function foreignCordons(
  nodes: readonly Node[],
  change: Pick<CordonChange, 'takeover'>,
  { cluster, maintenance, now }: Deps,
): Promise<ForeignCordon[]> {
  const uncordon = { ...change, unschedulable: false };
  const found = await Promise.all(
    nodes.map(async (node): Promise<ForeignCordon[]> => {
      if (!node.unschedulable) return [];
      const owner = needsOwner(node, uncordon) ? await maintenance.owner() : undefined;
      const plan = planCordon(node, uncordon, owner, now());
      if (plan.kind !== 'write' || plan.patch.unschedulable === undefined) return [];
      const read = await attempt(() => cluster.nodes.fieldSetters(node.name, [PATH]));
      if ('refusal' in read) return [{ node, by: 'unknown' }];
      const [setter] = read.value ?? [];
      if (setter === undefined) return [];
      const { manager, time } = setter;
      return [{ node, by: [manager || 'unknown', ...(time === undefined ? [] : [time])].join(', ') }];
    }),
  );
  return found.flat().toSorted((a, b) => (a.node.name < b.node.name ? -1 : 1));
}

/** Finds a cordon that a yes to these did not cover: see CordonOptions. */
export function laterCordonOf(
  theirs: readonly ForeignCordon[],
  change: Pick<CordonChange, 'takeover'>,
  deps: Deps,
): (node: Node) => Promise<ForeignCordon | undefined> {
  const covered = new Set(theirs.map(coverOf));
  return async node => (await foreignCordons([node], change, deps)).find(found => !covered.has(coverOf(found)));
}

function coverOf({ node, by }: ForeignCordon): string {
  return `cordon of ${node.uid} by ${by}`;
}

/** A yes covers these cordons, and no later one. */
export function cordonsQuestion(pools: readonly string[], found: readonly ForeignCordon[]): Question {
  const what = cordonsText(found);
  return {
    text: `Uncordon nodes of ${pools.join(', ')}: ${what}. Continue?`,
    covers: found.map(coverOf),
    needsYes: what,
  };
}

/** `1 node was cordoned by others: a (kubectl-cordon, 2026-11-24T15:00:00Z)` */
export function cordonsText(found: readonly ForeignCordon[]): string {
  const names = found.map(({ node, by }) => `${node.name} (${by})`);
  const were = found.length === 1 ? 'was' : 'were';
  return `${plural(found.length, 'node')} ${were} cordoned by others: ${firstFew(names, MAX_NODES)}`;
}
