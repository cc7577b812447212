import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderEvictions } from '../../../../../src/commands/shared/impact/print-taint-evictions.ts';
import type { EvictionPreview } from '../../../../../src/commands/shared/impact/taint-evictions.ts';
import { renderMoved, renderUnmoved } from '../../../../../src/commands/shared/move/print-moves.ts';
import { EKS, GKE } from '../../../../cloud-names.ts';

const TAINTS = [{ key: 'dedicated', value: 'gpu', effect: 'NoExecute' as const }];

const preview: EvictionPreview = {
  nodes: [
    {
      node: 'node-a',
      taints: TAINTS,
      now: ['default/web-1', 'default/web-2', 'kube-system/log'],
      later: [{ pod: 'default/patient', seconds: 300 }],
    },
    {
      node: 'node-b',
      taints: TAINTS,
      now: ['default/a-pod-with-quite-a-long-name-that-no-table-has-room-for'],
      later: [],
    },
  ],
  now: 4,
  later: 1,
  drained: 0,
  ofDaemonSets: 1,
  withoutController: 2,
  ended: 1,
  covers: [],
};

test('prints how many pods are evicted, from where, and what happens to them', () => {
  assert.equal(
    renderEvictions(preview, 80),
    `NoExecute taints evict 4 pods at once, and 1 pod after tolerationSeconds from 2
      nodes:
NODE     TAINTS                    NOW   LATER
  PODS
node-a   dedicated=gpu:NoExecute   3     1 (5m)
  default/web-1, default/web-2, kube-system/log and 1 more
node-b   dedicated=gpu:NoExecute   1     0
  default/a-pod-with-quite-a-long-name-that-no-table-has-room-for
Taints ignore PodDisruptionBudgets.
1 of them is owned by a DaemonSet, which recreates no pod there without a
      toleration.
2 of them have no controller and will not be recreated.
1 of them has already ended.`,
  );
});

test('lists the first of many nodes', () => {
  const nodes = Array.from({ length: 23 }, (_, index) => ({
    node: `n${index}`,
    taints: TAINTS,
    now: ['a/b'],
    later: [],
  }));
  const text = renderEvictions({ ...preview, nodes, later: 0, ofDaemonSets: 0, withoutController: 0, ended: 0 }, 120);
  const lines = text.split('\n');
  assert.deepEqual([lines.length, lines.at(-2)], [24, '… and 3 more nodes']);
});

test('cuts long node names of clouds on a terminal, but not in a pipe', () => {
  const nodes = [...EKS.slice(0, 3), ...GKE.slice(0, 3)].map(node => ({
    ...preview.nodes[0],
    node,
    taints: TAINTS,
    later: [],
  }));
  const few = { ...preview, nodes: nodes.map(node => ({ ...node, now: ['shop/web-6d4cf56db6-2xkvp'] })), later: 0 };
  for (const width of [80, 120]) {
    const lines = renderEvictions(few, width).split('\n');
    assert.deepEqual(
      lines.filter(line => line.length > width),
      [],
    );
    const rows = lines.filter(line => /^(ip|gke)-/.test(line)).map(line => line.split(/ +/));
    assert.equal(new Set(rows.map(([name]) => name)).size, 6);
    assert.match(lines.join('\n'), /^NODE +TAINTS +NOW(\n)? +PODS$/m);
    assert.ok(lines.filter(line => line.includes('shop/web-6d4cf56db6-2xkvp')).length >= 6, 'names are whole');
  }
  const piped = renderEvictions(few, Infinity);
  assert.ok(nodes.every(({ node }) => piped.includes(`\n${node} `)));
  assert.match(piped, /^NODE +TAINTS +NOW +LATER +PODS$/m);
});

test('prints a line with the result for a node', () => {
  const moved = (from: string | undefined, to: string | undefined) => ({ node: 'n', from, to });
  assert.equal(renderMoved({ kind: 'add', pool: 'gpu' }, moved(undefined, 'gpu')), 'node/n added to pool gpu');
  assert.equal(renderMoved({ kind: 'move', pool: 'gpu' }, moved('a', 'gpu')), 'node/n moved from pool a to pool gpu');
  assert.equal(renderMoved({ kind: 'move', pool: 'gpu' }, moved(undefined, 'gpu')), 'node/n moved to pool gpu');
  assert.equal(renderMoved({ kind: 'remove', pool: 'a' }, moved('a', undefined)), 'node/n removed from pool a');
  const removed = (key: string) => ({ key, from: 'x', action: 'remove', reason: 'membership' }) as const;
  const changes = [removed('node-role.kubernetes.io/a'), removed('rack')];
  assert.equal(
    renderMoved({ kind: 'remove', pool: 'a' }, { ...moved('a', undefined), changes }),
    'node/n removed from pool a (label rack=x removed)',
  );
  assert.equal(renderMoved({ kind: 'remove', pool: 'a' }, moved('a', 'b')), 'node/n removed from pool a, is in pool b');
  assert.equal(renderUnmoved({ kind: 'move', pool: 'a' }, 'n'), 'node/n is already in pool a');
  assert.equal(
    renderUnmoved({ kind: 'move', pool: 'a', from: 'b' }, 'n'),
    'node/n is not in pool b: the node is already in pool a',
  );
  assert.equal(renderUnmoved({ kind: 'remove', pool: 'a' }, 'n'), 'node/n is not in pool a');
});
