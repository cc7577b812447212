import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeDrainState } from '../../../../src/commands/drain/options.ts';
import { drainHeading, drainLine, drainProgress, renderDrains } from '../../../../src/commands/drain/print.ts';
import { cordonLine } from '../../../../src/commands/shared/cordon/print-cordon.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { aNode } from '../../nodepool/fixtures.ts';
import { colored, plain } from '../../print/fixtures.ts';

const WHY = 'PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently';

function makeDrain(
  node: string,
  phase: NodeDrainState['phase'],
  gone: number,
  pods: number,
  ...blockedPods: string[]
): NodeDrainState {
  return { node, phase, gone, pods, blockedPods: new Map(blockedPods.map(pod => [pod, { pod, why: WHY }])) };
}

const drains = [
  makeDrain('node-1', 'drained', 12, 12),
  makeDrain('node-2', 'in progress', 3, 10, 'default/web-1', 'default/web-2'),
  makeDrain('node-3', 'failed', 1, 2, 'default/web-3'),
  makeDrain('node-4', 'pending', 0, 8),
];

test('prints nodes in the words of kubectl', () => {
  const error = new NodepoolError('cluster', 'cannot patch Node "a"', 'ask for a role');
  const line = (kind: 'changed' | 'already' | 'gone', unschedulable: boolean, suffix = '') =>
    cordonLine({ kind, node: 'a' }, unschedulable, suffix);
  assert.deepEqual(line('changed', true), { to: 'out', text: 'node/a cordoned' });
  assert.deepEqual(line('changed', false, ' (dry run)'), { to: 'out', text: 'node/a uncordoned (dry run)' });
  assert.deepEqual(line('already', true), { to: 'out', text: 'node/a already cordoned' });
  assert.deepEqual(line('already', false), { to: 'out', text: 'node/a already uncordoned' });
  assert.deepEqual(line('gone', true), { to: 'err', text: 'node/a is gone' });
  assert.deepEqual(cordonLine({ kind: 'failed', node: 'a', error }, false, ''), {
    to: 'error',
    message: 'unable to uncordon node "a": cannot patch Node "a"',
    next: 'ask for a role',
  });
});

test('prints evicted or deleted pods', () => {
  const [evict, remove] = [
    { disableEviction: false, suffix: '' },
    { disableEviction: true, suffix: ' (server dry run)' },
  ];
  const pod = { node: 'a', pod: 'ns/p' };
  const text = (line: ReturnType<typeof drainLine>) => (line.to === 'error' ? line.message : line.text);
  assert.equal(text(drainLine({ kind: 'asking', ...pod }, evict)), 'evicting pod ns/p');
  assert.equal(text(drainLine({ kind: 'asking', ...pod }, remove)), 'deleting pod ns/p (server dry run)');
  assert.equal(text(drainLine({ kind: 'gone', ...pod }, evict)), 'pod ns/p evicted');
  assert.equal(text(drainLine({ kind: 'gone', ...pod }, remove)), 'pod ns/p deleted (server dry run)');
  assert.equal(text(drainLine({ kind: 'blocked', why: WHY, ...pod }, evict)), `pod ns/p on node a waits for ${WHY}`);
});

test('counts the pods of each budget', () => {
  const blockedPods = new Map([
    ['ns/p2', 'PodDisruptionBudget ns/one: needs 1 healthy pods and has 1 currently'],
    ['ns/a2', 'PodDisruptionBudget ns/never: needs 3 healthy pods and has 3 currently'],
    ['ns/p1', 'PodDisruptionBudget ns/never: needs 3 healthy pods and has 2 currently'],
  ]);
  const texts =
    '2 pods wait for PodDisruptionBudget ns/never: needs 3 healthy pods and has 3 currently, 1 pod waits for PodDisruptionBudget ns/one: needs 1 healthy pods and has 1 currently';
  const suffix = ' (server dry run)';
  const heldPods = new Map([...blockedPods].map(([pod, why]) => [pod, { pod, why }]));
  assert.deepEqual(drainLine({ kind: 'waits', node: 'a', blockedPods: heldPods }, { disableEviction: false, suffix }), {
    to: 'out',
    text: `node/a not drained: ${texts}${suffix}`,
  });
});

test('prints the message of a webhook as one short line', () => {
  const blockedPods = (why: string) =>
    drainLine({ kind: 'blocked', node: 'a', pod: 'ns/p', why }, { disableEviction: false, suffix: '' });
  const begin = 'pod ns/p on node a waits for ';
  assert.deepEqual(blockedPods('it\u001b[2J\nnode/a drained'), {
    to: 'err',
    text: `${begin}it\\u001b[2J\\nnode/a drained`,
  });
  assert.deepEqual(blockedPods('x'.repeat(1e6)), { to: 'err', text: `${begin}${'x'.repeat(999)}…` });
  const long = makeDrain('a', 'in progress', 0, 1);
  long.blockedPods.set('ns/p', { pod: 'ns/p', why: 'x'.repeat(1e6) });
  const cut = `1 pod waits for ${'x'.repeat(89)}…`;
  assert.equal(drainProgress('p', [long]), `Draining p: 0/1 node; a 0/1 pod, ${cut}`);
  assert.ok(renderDrains([long], plain).endsWith(` ${'x'.repeat(999)}…`));
});

test('prints the text of the spinner', () => {
  assert.equal(drainProgress('worker', drains), `Draining worker: 1/4 nodes; node-2 3/10 pods, 2 pods wait for ${WHY}`);
  const many = ['a', 'b', 'c'].map(name => makeDrain(name, 'in progress', 0, 1));
  assert.equal(
    drainProgress('p\u001b[31m', many),
    'Draining p\\u001b[31m: 0/3 nodes; a 0/1 pod; b 0/1 pod; and 1 more',
  );
  assert.equal(drainProgress('p', []), 'Draining p: 0/0 nodes');
});

test('prints the report', () => {
  assert.equal(
    `\n${renderDrains(drains, plain)}\n`,
    `
NODE     STATE         EVICTED   NOTE
node-1   drained       12/12
node-2   in progress   3/10      2 pods wait for PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently
node-3   failed        1/2       1 pod waits for PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently
node-4   pending       0/8
`,
  );
  assert.match(renderDrains(drains, colored), /\u001b\[32mdrained\u001b\[39m/);
  const evil = makeDrain('x', 'in progress', 0, 1);
  evil.blockedPods.set('p', { pod: 'p', why: 'a\u001b[2J\nb' });
  assert.match(renderDrains([evil], plain), /1 pod waits for a\\u001b\[2J\\nb$/);
});

test('wraps reasons below their lines on a terminal, and breaks no names', () => {
  const [, underWay] = drains;
  assert.ok(underWay);
  const named = [{ ...underWay, node: 'ip-10-0-12-100.eu-west-1.compute.internal' }];
  assert.equal(
    `\n${renderDrains(named, plain, 80)}\n`,
    `
NODE                                        STATE         EVICTED   NOTE
ip-10-0-12-100.eu-west-1.compute.internal   in progress   3/10
  2 pods wait for PodDisruptionBudget default/web: needs 2 healthy pods and has
    2 currently
`,
  );
});

test('names what the drain will do', () => {
  const nodes = ['a', 'b', 'c'].map(name => ({ node: aNode({ name }), pods: [], warned: new Set<string>() }));
  const plan = { pool: 'worker', nodes };
  const parallel = { kind: 'parallel' as const, nodes: 2 };
  for (const [options, text] of [
    [
      { pace: parallel, isRolling: false, timeoutMs: 900_000 },
      '2 at a time; all nodes are cordoned first. Timeout for each node: 15m.',
    ],
    [
      { pace: parallel, isRolling: true, timeoutMs: 0 },
      '2 at a time; each node is cordoned right before its drain and stays cordoned. Timeout for each node: none.',
    ],
    [
      { pace: { kind: 'max unavailable' as const, nodes: 2 }, isRolling: true, timeoutMs: 500 },
      'at most 2 at a time, including failed and NotReady nodes; each node is cordoned right before its drain and stays cordoned. Timeout for each node: 500ms.',
    ],
  ] as const) {
    assert.equal(drainHeading(plan, options), `Draining 3 nodes of pool worker, ${text}`);
  }
});
