/** NoExecute taints are set only as confirmed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import type { Overrides } from '../../../../override.ts';
import { aNode, aPool, taint } from '../../../nodepool/fixtures.ts';
import { pool, role } from '../fake-server.ts';
import { applied } from './run-apply.ts';

test('sets no unconfirmed NoExecute taint on any node', async () => {
  const strict = aPool({ taints: [taint('d:NoExecute')] }, pool('b', {}).metadata);
  const nodes = [aNode({ name: 'n1', labels: role('b') })];
  const refused = await applied([strict], nodes, { pools: ['b'] }, { options: { consent: new Set() } });
  assert.match(
    refused.chosen[0]?.outcome?.failures[0]?.message ?? '',
    /would now get the taint d:NoExecute, which was not/,
  );
  const agreed = await applied(
    [strict],
    nodes,
    { pools: ['b'] },
    { options: { consent: new Set(['n1 d:NoExecute']) } },
  );
  assert.deepEqual(agreed.live.get('n1')?.taints, [taint('d:NoExecute')]);
});

test('sets a NoExecute taint that became due after the plan only with --yes', async () => {
  const strict = aPool({ labels: { tier: 'b' }, taints: [taint('d:NoExecute')] }, pool('b', {}).metadata);
  const planned = aNode({ name: 'n1', labels: role('b'), taints: [taint('d:NoExecute')] });
  // Someone removes the taint after the nodes were read.
  const port = ({ nodes }: ClusterPort): Overrides => {
    let isChanged = false;
    return {
      nodes: {
        get: async name => {
          const node = await nodes.get(name);
          return node && { ...node, taints: [] };
        },
        async patch(...args) {
          if (isChanged) return nodes.patch(...args);
          isChanged = true;
          return { kind: 'conflict' };
        },
      },
    };
  };
  const run = (consent: ReadonlySet<string> | undefined) =>
    applied([strict], [planned], { pools: ['b'] }, { port, options: { consent } });
  const yes = await run(undefined);
  assert.deepEqual(
    yes.chosen[0]?.outcome?.moves[0]?.changes.map(({ key }) => key),
    ['tier', 'd'],
  );
  const bound = await run(new Set());
  assert.deepEqual(bound.chosen[0]?.outcome?.moves, []);
  assert.match(bound.chosen[0]?.outcome?.failures[0]?.message ?? '', /d:NoExecute, which was not shown before/);
});
