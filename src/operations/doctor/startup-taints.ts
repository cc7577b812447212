/** Startup taints that stay: the condition that they wait for is reported by no member. */
import { plural } from '../../nodepool/plural.ts';
import { heldStartupTaints } from '../../nodepool/startup-taints.ts';
import { formatTaint } from '../../nodepool/syntax.ts';
import { taintId } from '../../nodepool/taint.ts';
import type { NodePool, StartupTaint } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import type { ExaminedNode } from '../doctor-port.ts';
import { type Finding, named, ok, warning } from './check.ts';

/** The agent of a younger node may still be starting. */
const STARTING_MS = 10 * 60_000;

export function checkStartupTaints(
  pools: readonly NodePool[],
  nodes: readonly ExaminedNode[],
  state: ClusterState,
  now: Date,
): Finding {
  const types = new Map(nodes.map(({ name, conditionTypes }) => [name, conditionTypes]));
  const details: string[] = [];
  let waiting = 0;
  for (const { metadata, spec } of pools) {
    const members = state.members(metadata.name);
    for (const taint of spec.startupTaints ?? []) {
      const condition = taint.until?.nodeCondition;
      if (condition === undefined) continue;
      waiting++;
      if (members.some(({ name }) => types.get(name)?.includes(condition))) continue;
      const held = members
        .filter(
          node => now.getTime() - Date.parse(node.creationTimestamp) > STARTING_MS && holds(state, node.name, taint),
        )
        .map(({ name }) => name);
      if (held.length === 0) continue;
      const where = `${plural(held.length, 'member')} older than ${STARTING_MS / 60_000} minutes`;
      details.push(`${metadata.name}: ${formatTaint(taint)} waits for ${condition} on ${where}: ${named(held)}`);
    }
  }
  if (details.length === 0) {
    return ok(
      waiting === 0
        ? 'no startup taint waits for a condition'
        : 'the condition that each startup taint waits for is reported, or its members are young',
    );
  }
  return warning(
    'startup taints wait for conditions that no member of their pool reports',
    'check that the agent that sets the condition runs there, and its name in spec.startupTaints; `kubectl taint` removes the taints',
    details,
  );
}

function holds(state: ClusterState, name: string, taint: StartupTaint): boolean {
  const [node, record] = [state.node(name), state.ownership(name)?.record];
  if (node === undefined || record === undefined) return false;
  return heldStartupTaints(node, record).some(held => taintId(held) === taintId(taint));
}
