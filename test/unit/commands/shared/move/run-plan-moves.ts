/** Runs planMoves() on a fake server, and fails on any write. */
import assert from 'node:assert/strict';
import { type MoveOptions, planMoves } from '../../../../../src/commands/shared/move/plan-moves.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';
import { pool, server } from '../fake-server.ts';

export const younger = (name: string, nodeSelector: Record<string, string>, labels = {}) =>
  aPool({ nodeSelector, labels }, { name, uid: `uid-${name}`, creationTimestamp: '2026-02-01T00:00:00Z' });
const MOVE: MoveOptions = { kind: 'move', pool: 'b', nodes: [], selector: undefined, from: undefined };
export const A = pool('a', { tier: 'a' });
export const B = pool('b', { tier: 'b' });

export async function planned(pools: NodePool[], nodes: Node[], options: Partial<MoveOptions>, selected?: Node[]) {
  const { cluster, writes } = server(pools, nodes);
  const listNodes = async (labelSelector?: string) => (labelSelector === undefined ? nodes : (selected ?? nodes));
  const result = await planMoves(
    { ...MOVE, ...options },
    { cluster: { ...cluster, nodes: { ...cluster.nodes, list: listNodes } } },
  );
  assert.deepEqual(writes, []);
  return { ...result, names: result.plan.nodes.map(({ node }) => node.name) };
}

export async function refused(pools: NodePool[], nodes: Node[], options: Partial<MoveOptions>, selected?: Node[]) {
  try {
    await planned(pools, nodes, options, selected);
  } catch (error) {
    assert.ok(error instanceof NodepoolError, String(error));
    return [error.kind, error.message, error.next];
  }
  return assert.fail('planMoves() did not throw');
}
