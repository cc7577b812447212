import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkMaintenance } from '../../../../src/commands/doctor/state.ts';
import { formatMaintenance } from '../../../../src/nodepool/drain/maintenance.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const OVER = '2026-11-20T12:00:00Z';

/** @param uid of the node that the maintenance was begun on */
function held(name: string, uid: string, node: Partial<Node> = {}, until?: string): Node {
  const owner = { name: 'alice', from: 'server' as const };
  const since = '2026-11-19T12:00:00Z';
  const maintenance = formatMaintenance({ owner, since, ...(until === undefined ? {} : { until }), uid });
  return aNode({ name, uid: name, labels: { in: 'web' }, unschedulable: true, maintenance, ...node });
}

/** The command that each line names. */
function steps(nodes: Node[]): (string | undefined)[] {
  const pool = aPool({ nodeSelector: { in: 'web' } }, { name: 'web' });
  const { details } = checkMaintenance(nodes, new ClusterState([pool], nodes, []), NOW);
  return (details ?? []).map(line => /`(.*)`$/.exec(line)?.[1]);
}

test('suggests removing invalid maintenance annotations, and keeps nodes of others cordoned', () => {
  assert.deepEqual(steps([held('recreated', 'before')]), [
    'kubectl annotate node recreated nodes.lailin.xyz/maintenance-',
  ]);
  assert.deepEqual(steps([held('garbled', 'garbled', { maintenance: 'x' })]), [
    'kubectl annotate node garbled nodes.lailin.xyz/maintenance-',
  ]);
  assert.deepEqual(steps([held('open', 'open', { unschedulable: false })]), [
    'kubectl nodepool uncordon web --node open',
  ]);
  assert.deepEqual(steps([held('mine', 'mine')]), [undefined], 'one that holds');
});

test('for many nodes, suggests a command with --node instead of the whole pool', () => {
  const nodes = Array.from({ length: 11 }, (_, at) => held(`n${at}`, `n${at}`, {}, OVER));
  assert.deepEqual(steps([...nodes, held('active', 'active')]), [
    'kubectl nodepool uncordon web --node NODE… --takeover',
    undefined,
  ]);
});

test('suggests kubectl commands for nodes without a pool', () => {
  assert.deepEqual(steps([held('free', 'free', { labels: {} }, OVER)]), [
    'kubectl uncordon free && kubectl annotate node free nodes.lailin.xyz/maintenance-',
  ]);
});
