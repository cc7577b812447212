/** Nodes that no run writes: each command names the reason. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesPrinter } from '../../../../../src/commands/nodes/print.ts';
import { showDiff } from '../../../../../src/commands/shared/changes/diff.ts';
import { describe } from '../../../../../src/commands/shared/describe/describe.ts';
import { renderDescription } from '../../../../../src/commands/shared/describe/print-describe.ts';
import { renderWhy } from '../../../../../src/commands/shared/describe/print-why.ts';
import { whyNode } from '../../../../../src/commands/shared/describe/why.ts';
import { listNodes } from '../../../../../src/commands/shared/pools/nodes.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { nodeColumns } from '../../../../../src/view/columns.ts';
import { nodeRows } from '../../../../../src/view/rows.ts';
import { override } from '../../../../override.ts';
import { testIo } from '../../../cli/test-io.ts';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';
import { NOW, plain } from '../../../print/fixtures.ts';
import { role, server } from '../fake-server.ts';

const nvidia = { accelerator: 'nvidia' };
const many = Object.fromEntries(Array.from({ length: 1100 }, (_, index) => [`l${index}`, 'x']));
const CASES = [
  {
    pools: [
      aPool({ labels: nvidia }, { name: 'gpu', uid: 'g' }),
      aPool({ nodeSelector: nvidia, labels: role('gpu') }, { name: 'nvidia', uid: 'n' }),
    ],
    node: aNode({ labels: nvidia, record: recordOf({ pool: 'gpu', labels: nvidia }) }),
    word: 'between:gpu,nvidia',
    why: 'the labels of pools gpu, nvidia move nodes to another pool in an endless loop; next: change the labels or',
    differing: 1,
  },
  {
    pools: [aPool({ nodeSelector: { x: '1' }, unmanaged: 'Remove' }, { name: 'u' })],
    node: aNode({ labels: { x: '1', ...many } }),
    word: 'record-full',
    why: 'what pool u removes with unmanaged: Remove does not fit into the record (1000 labels, ',
    differing: 1,
  },
  {
    pools: [aPool({ nodeSelector: { x: '1' }, labels: { 'bad key!': 'v' } }, { name: 'i' })],
    node: aNode({ labels: { x: '1' }, record: recordOf({ pool: 'i' }) }),
    word: 'invalid-spec',
    why: 'the spec of pool i is invalid: spec.labels',
    differing: 0,
  },
];

for (const { pools, node, word, why, differing } of CASES) {
  const [
    {
      metadata: { name },
    } = assert.fail(),
  ] = pools;
  const started = server(pools, [node]);
  const cluster = override(
    started.cluster as never,
    {
      nodes: { serverTime: () => NOW, fieldSetters: async () => undefined },
    } as never,
  ) as never;
  const noEvents = { list: async () => [] } as never;

  test(`${word}: nodes, the dashboard and describe show it as the state of the node`, async () => {
    const { nodes } = await listNodes({ pools: [], unassigned: false, selector: undefined }, { cluster });
    assert.match(nodesPrinter({ wide: false, headers: false }, plain)(nodes, NOW), new RegExp(` ${word} `));
    const rows = nodeRows(new ClusterState(pools, [node], []), name);
    const options = { width: 200, now: NOW, style: plain, usage: undefined, isOfAll: false };
    const state = nodeColumns(rows, options).find(({ title }) => title === 'STATE');
    assert.deepEqual(
      rows.map(row => state?.cell(row, NOW, Infinity)).map(cell => (typeof cell === 'object' ? cell.text : cell)),
      [word],
    );
    const { descriptions } = await describe([name], { cluster, events: noEvents });
    const text = renderDescription(descriptions[0] ?? assert.fail(), NOW, plain);
    assert.match(text, /^Nodes: .*, 1 not written/m);
    assert.match(text, new RegExp(`n1 .* ${word} `));
    assert.ok(text.includes(`\n  ! node n1 is not written: ${why}`), text);
  });

  test(`${word}: why and diff print the reason and the next step, and diff counts the node`, async () => {
    const text = renderWhy(await whyNode('n1', [], { cluster }), plain);
    assert.ok(text.includes(`\n! the node is not written: ${why}`), text);
    assert.match(text, /; next: /);
    assert.doesNotMatch(text, /the next reconcile/);
    const io = testIo();
    const connection = { cluster, workloads: async () => ({}) } as never;
    assert.equal(await showDiff({ all: true }, {}, { io }, connection), differing);
    if (differing > 0) assert.ok(io.stdoutText().includes(`! node n1 is not written: ${why}`), io.stdoutText());
  });
}
