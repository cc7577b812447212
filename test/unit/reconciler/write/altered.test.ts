import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueOf, planMerge } from '../../../../src/nodepool/plan/plan.ts';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { patchedNode } from '../../../../src/reconciler/plan/node-plan.ts';
import { alteredError, alteredOnNode } from '../../../../src/reconciler/write/altered.ts';
import { aNode, aPool, taint } from '../../nodepool/fixtures.ts';

const pool = aPool({ labels: { tier: 'gold' }, taints: [taint('own=x:NoSchedule')] });
const stripping = { ...pool, spec: { ...pool.spec, unmanaged: 'Remove' as const } };
const node = aNode({ labels: { team: 'a' }, taints: [taint('foreign:NoSchedule')] });

/** The message when the server alters the first write of a pool to the node. */
function altered(change: (stored: Node) => Node, owner = pool): string {
  const plan = planMerge(node, undefined, owner);
  const patch = dueOf(plan)?.patch;
  assert.ok(patch);
  const answer = change(patchedNode(node, patch));
  const next = () => planMerge(answer, parseRecord(answer.record), owner);
  const slots = alteredOnNode({ node, patch }, answer, next);
  return slots.length === 0 ? '' : alteredError('node n1', slots).message.replace(/^.* during the write: /, '');
}

const cases: [string, (stored: Node) => Node, string, typeof pool?][] = [
  ['nothing', stored => stored, ''],
  [
    'a label of the pool',
    s => ({ ...s, labels: { ...s.labels, tier: 'x' } }),
    'label tier was sent with value "gold" and is "x"',
  ],
  [
    'a label of the pool is removed',
    s => ({ ...s, labels: { team: 'a' } }),
    'label tier was sent with value "gold" and removed',
  ],
  ['a foreign label', s => ({ ...s, labels: { ...s.labels, team: 'b', more: 'c' } }), ''],
  [
    'a label that the pool strips',
    s => ({ ...s, labels: { ...s.labels, more: 'c' } }),
    'label more was added with value "c"',
    stripping,
  ],
  ['the record', ({ record: _, ...s }) => s, 'annotation nodes.lailin.xyz/applied was removed'],
  ['the text of the record', s => ({ ...s, record: '{}' }), 'annotation nodes.lailin.xyz/applied was replaced'],
  [
    'a taint of the pool',
    s => ({ ...s, taints: [taint('own=y:NoSchedule')] }),
    'taint own:NoSchedule was sent with value "x" and is "y"',
  ],
  ['a foreign taint', s => ({ ...s, taints: [...s.taints, taint('more:NoSchedule')] }), ''],
  [
    'a taint that the pool strips',
    s => ({ ...s, taints: [...s.taints, taint('more:NoSchedule')] }),
    'taint more:NoSchedule was added with value ""',
    stripping,
  ],
];

for (const [what, change, expected, owner] of cases) {
  test(`server changes ${what}: ${expected || 'no failure'}`, () => assert.equal(altered(change, owner), expected));
}

test('names three labels, taints or annotations, and counts the others', () => {
  const slots = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `label l${index}`, sent: undefined, found: 'x' }));
  const named = (count: number) => alteredError('n1', slots(count)).message.replace(/^.* during the write: /, '');
  const added = (index: number) => `label l${index} was added with value "x"`;
  assert.equal(named(2), `${added(0)}, ${added(1)}`);
  assert.equal(named(3), `${added(0)}, ${added(1)}, ${added(2)}`);
  assert.equal(named(5), `${added(0)}, ${added(1)}, ${added(2)}, and 2 more`);
});

test('names a label that the server keeps on a released node', () => {
  const labels = { tier: 'gold' };
  const answer = aNode({ labels });
  const slots = alteredOnNode(
    { node: aNode({ labels }), patch: { resourceVersion: '7', labels: { tier: null } } },
    answer,
    () => undefined,
  );
  assert.deepEqual(slots, [{ name: 'label tier', sent: undefined, found: 'gold' }]);
});
