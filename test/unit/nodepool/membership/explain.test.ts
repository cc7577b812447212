import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../../../src/nodepool/membership/explain.ts';
import { PoolIndex } from '../../../../src/nodepool/membership/membership.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../fixtures.ts';

function why(node: Node, ...pools: NodePool[]) {
  const index = new PoolIndex(pools);
  return explain(node, pools, index.ownership(node), name => index.errors(name));
}

const pool = (name: string, nodeSelector: Record<string, string>, more: Parameters<typeof aPool>[1] = {}) =>
  aPool({ nodeSelector }, { name, ...more });
const OLD = { creationTimestamp: '2025-01-01T00:00:00Z' };
const verdicts = (node: Node, ...pools: NodePool[]) =>
  Object.fromEntries(why(node, ...pools).pools.map(({ pool: name, verdict }) => [name, verdict]));

test("lists each pair of a selector with the node's value", () => {
  const explained = why(aNode({ labels: { a: '1', b: 'other' } }), pool('p', { a: '1', b: '2', c: '3' }));
  assert.deepEqual(explained, {
    node: 'n1',
    owner: undefined,
    gone: undefined,
    pools: [
      {
        pool: 'p',
        selector: [
          { key: 'a', requirement: 'a=1', isMet: true, live: '1' },
          { key: 'b', requirement: 'b=2', isMet: false, live: 'other' },
          { key: 'c', requirement: 'c=3', isMet: false, live: undefined },
        ],
        verdict: { kind: 'no match' },
        toBeCleaned: false,
      },
    ],
  });
});

test("lists each expression of a selector with the node's value", () => {
  const matchExpressions = [
    { key: 'cpu', operator: 'Gt', values: ['4'] },
    { key: 'spot', operator: 'NotIn', values: ['yes'] },
    { key: 'zone', operator: 'In', values: ['a', 'b'] },
  ];
  const explained = why(aNode({ labels: { cpu: '8', zone: 'c' } }), aPool({ matchExpressions }, { name: 'p' }));
  assert.deepEqual(explained.pools[0]?.selector, [
    { key: 'cpu', requirement: 'cpu>4', isMet: true, live: '8' },
    { key: 'spot', requirement: 'spot notin (yes)', isMet: true, live: undefined },
    { key: 'zone', requirement: 'zone in (a,b)', isMet: false, live: 'c' },
  ]);
});

test('lists labels that nearly match, with their pools first', () => {
  const labels = { pool: 'workers', Zone: 'a', 'cloud.google.com/gke-nodepool': 'gpu', tier: 'gold' };
  const wanted = { pool: 'worker', zone: 'a', 'cloud.google.com/gke-node-pool': 'gpu' };
  const { pools } = why(aNode({ labels }), pool('a', { pool: 'x' }), pool('b', wanted), pool('c', { tier: 'silver' }));
  assert.deepEqual(
    pools.map(({ pool, selector }) => [pool, ...selector.map(({ near }) => near)]),
    [
      [
        'b',
        { key: 'cloud.google.com/gke-nodepool', value: 'gpu' },
        { key: 'pool', value: 'workers' },
        { key: 'Zone', value: 'a' },
      ],
      ['a', undefined],
      ['c', undefined],
    ],
  );
});

test('explains which of several matching pools owns the node: current, older, smaller name', () => {
  const node = aNode({ labels: { a: '1' } });
  assert.deepEqual(verdicts(node, pool('x', { a: '1' })), { x: { kind: 'member', over: [] } });
  assert.deepEqual(verdicts(node, pool('x', { a: '1' }), pool('w', { a: '1' })), {
    w: { kind: 'member', over: [{ pool: 'x', rule: 'has the smaller name' }] },
    x: { kind: 'lost', to: 'w', rule: 'has the smaller name' },
  });
  assert.deepEqual(verdicts(node, pool('x', { a: '1' }, OLD), pool('w', { a: '1' })), {
    w: { kind: 'lost', to: 'x', rule: 'is older' },
    x: { kind: 'member', over: [{ pool: 'w', rule: 'is older' }] },
  });
  const held = { ...node, record: recordOf({ pool: 'w' }) };
  assert.deepEqual(verdicts(held, pool('x', { a: '1' }, OLD), pool('w', { a: '1' })), {
    w: { kind: 'member', over: [{ pool: 'x', rule: 'holds the node already' }] },
    x: { kind: 'lost', to: 'w', rule: 'holds the node already' },
  });
});

test('explains why pools get no nodes: being deleted, invalid, unreadable selector', () => {
  const node = aNode({ labels: { a: '1' }, record: recordOf({ pool: 'unread' }) });
  const invalid = { ...pool('invalid', { a: '1' }), spec: { nodeSelector: { a: '1' }, handler: 'NO' } };
  const unread = { ...pool('unread', {}), unreadable: [{ field: 'spec.nodeSelector', message: 'wrong' }] };
  const found = verdicts(
    node,
    pool('going', { a: '1' }, { deletionTimestamp: '2026-02-01T00:00:00Z' }),
    pool('elsewhere', { b: '1' }, { deletionTimestamp: '2026-02-01T00:00:00Z' }),
    invalid,
    unread,
  );
  assert.deepEqual(found.going, { kind: 'deleting' });
  assert.deepEqual(found.elsewhere, { kind: 'no match' });
  assert.equal(found.invalid?.kind, 'invalid');
  assert.deepEqual(found.unread, { kind: 'unknown selector', keeps: true });
});

test('lists what a deleted pool, or one that lost the node, left on it', () => {
  const node = aNode({ labels: { a: '1' }, record: recordOf({ pool: 'before', labels: { x: 'y' } }) });
  const left = why(node, pool('before', { b: '1' }), pool('now', { a: '1' }));
  assert.deepEqual(
    left.pools.map(({ pool: name, toBeCleaned }) => [name, toBeCleaned]),
    [
      ['now', false],
      ['before', true],
    ],
  );
  assert.equal(left.gone, undefined);
  assert.equal(why(node, pool('now', { a: '1' })).gone, 'before');
});

test('agrees with PoolIndex.ownership for every node', () => {
  const names = ['p', 'q', 'r'];
  // Every combination of facts: matches or not, older or not, deleted, invalid or neither; and the pool in the record.
  for (let mix = 0; mix < 12 ** 2 * 4; mix++) {
    let rest = mix;
    const take = (of: number) => {
      const value = rest % of;
      rest = Math.floor(rest / of);
      return value;
    };
    const pools = names.slice(0, 2).map(name => {
      const [matches, older, state] = [take(2) === 1, take(2) === 1, take(3)];
      const made = pool(name, { a: matches ? '1' : '2' }, older ? OLD : {});
      if (state === 1) return { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
      return state === 2 ? { ...made, spec: { ...made.spec, handler: 'NO' } } : made;
    });
    const holder = [...names, undefined][take(4)];
    const node = aNode({ labels: { a: '1' }, ...(holder === undefined ? {} : { record: recordOf({ pool: holder }) }) });
    const ownership = new PoolIndex(pools).ownership(node);
    const { pools: reasons, gone } = why(node, ...pools);
    const of = (kind: string) => reasons.filter(({ verdict }) => verdict.kind === kind).map(({ pool: name }) => name);
    assert.deepEqual(of('member'), ownership.owner === undefined ? [] : [ownership.owner], `mix ${mix}`);
    assert.deepEqual(of('lost').toSorted(), [...ownership.conflicting].toSorted(), `mix ${mix}`);
    assert.equal(gone, holder === 'r' ? 'r' : undefined);
  }
});

test('explains only the startup taints in the record of the owner', () => {
  const startup = { 'agent:NoSchedule': 'x', 'gone:NoSchedule': 'y', 'lifted:NoExecute': null };
  const node = aNode({
    labels: { a: '1' },
    taints: [{ key: 'agent', value: 'x', effect: 'NoSchedule' }],
    record: recordOf({ pool: 'p', startup }),
  });
  const until = { nodeCondition: 'AgentReady' };
  const owner = aPool(
    { nodeSelector: { a: '1' }, startupTaints: [{ key: 'agent', effect: 'NoSchedule', until, again: 'Boot' }] },
    { name: 'p' },
  );
  assert.deepEqual(why(node, owner).startup, [
    {
      taint: { key: 'agent', value: 'x', effect: 'NoSchedule' },
      isHeld: true,
      until: 'AgentReady',
      isGivenAgain: true,
    },
    { taint: { key: 'gone', value: 'y', effect: 'NoSchedule' }, isHeld: false, until: undefined, isGivenAgain: false },
    { taint: { key: 'lifted', effect: 'NoExecute' }, isHeld: false, until: undefined, isGivenAgain: false },
  ]);
  assert.equal(why(node, pool('other', { a: '1' })).startup, undefined);
});
