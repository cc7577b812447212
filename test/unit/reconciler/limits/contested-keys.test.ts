import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, NodesClient } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../src/nodepool/plan/plan.ts';
import type { Condition } from '../../../../src/nodepool/types.ts';
import { ContestedKeys, type EarlierRepairs } from '../../../../src/reconciler/limits/contested-keys.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aPool } from '../../nodepool/fixtures.ts';

const drift: Change = { kind: 'label', key: 'tier', action: 'change', from: 'silver', to: 'gold', reason: 'drift' };
const MINUTE = 60_000;
const SAYS = (what: string) =>
  `others keep changing values of the pool, at least 3 times within an hour: ${what}; next: remove the key from the pool, or stop the other writer`;
const TIER = SAYS('label tier on 1 node (field manager flux)');

function begin(options: { manager?: string | NodepoolError; earlier?: EarlierRepairs | 'forbidden' } = {}) {
  const { manager = 'flux', earlier } = options;
  const clock = new FakeClock();
  const asked: string[] = [];
  let listed = 0;
  const fieldManager: NodesClient['fieldManager'] = async (node, path) => {
    asked.push(`${node} ${path.join('/')}`);
    if (manager instanceof Error) throw manager;
    return manager;
  };
  const contestedKeys = new ContestedKeys({
    clock,
    cluster: { nodes: { fieldManager } } as unknown as ClusterPort,
    ...(earlier === undefined
      ? {}
      : {
          async earlierRepairs() {
            listed++;
            return earlier === 'forbidden' ? undefined : earlier;
          },
        }),
  });
  const repair = async (changes: Change[] = [drift], name = 'a', pool = poolWith(), uid = `${name}-1`) => {
    await contestedKeys.beforeRepair(pool, { name, uid }, changes);
    contestedKeys.repaired(pool, { name, uid }, changes);
  };
  const text = (pool = poolWith(), isMember = (_node: string) => true) => contestedKeys.textOf(pool, isMember);
  return { clock, asked, contestedKeys, repair, text, listed: () => listed };
}

function poolWith(contested?: string, generation = 1) {
  const condition = {
    status: 'True',
    reason: 'RepeatedRepairs',
    lastTransitionTime: '',
    observedGeneration: 1,
  } as const;
  const conditions: Condition[] =
    contested === undefined ? [] : [{ ...condition, type: 'Contested', message: contested }];
  return aPool({}, { uid: 'pool-1', generation, status: { status: 200, nodeCount: 1, conditions } });
}

test('three repairs of a key on a node within an hour make it contested for an hour', async () => {
  const { clock, asked, contestedKeys, repair, text } = begin();
  for (let round = 1; round <= 2; round++) {
    await repair();
    assert.equal(await text(), undefined);
    clock.freeze(10 * MINUTE);
  }
  assert.deepEqual(asked, []);
  await repair();
  assert.equal(await text(), TIER);
  // Every 50 minutes is not three times an hour, and no end either.
  for (let round = 1; round <= 4; round++) {
    clock.freeze(50 * MINUTE);
    await repair();
    assert.equal(await text(poolWith(TIER)), TIER);
  }
  assert.deepEqual(asked, ['a metadata/labels/tier'], 'the manager is read once');
  assert.equal(contestedKeys.endsAfterMs(poolWith(TIER)), 60 * MINUTE);
  clock.freeze(59 * MINUTE);
  assert.equal(await text(poolWith(TIER)), TIER);
  clock.freeze(MINUTE);
  assert.equal(await text(poolWith(TIER)), undefined);
  assert.equal(contestedKeys.endsAfterMs(poolWith()), undefined);
});

test('does not add up repairs of other keys, other nodes or an earlier spec', async () => {
  const { clock, repair, text } = begin();
  const others: Change[] = [
    { ...drift, key: 'team' },
    { ...drift, kind: 'annotation' },
  ];
  await repair();
  await repair([drift], 'b');
  for (const other of others) await repair([other]);
  await repair([{ ...drift, reason: 'spec' }]);
  await repair([drift], 'a', poolWith(undefined, 2));
  await repair([drift], 'a', poolWith(undefined, 2));
  assert.equal(await text(poolWith(undefined, 2)), undefined);
  clock.freeze(61 * MINUTE);
  await repair([drift], 'a', poolWith(undefined, 2));
  assert.equal(await text(poolWith(undefined, 2)), undefined);
});

test('names keys, the number of members, and unknown managers', async () => {
  const taint: Change = { kind: 'taint', key: 'gold', effect: 'NoSchedule', action: 'add', to: 'yes', reason: 'drift' };
  const { repair, text } = begin({ manager: new NodepoolError('cluster', 'forbidden') });
  for (let round = 1; round <= 3; round++) for (const node of ['a', 'b']) await repair([taint, drift], node);
  assert.equal(
    await text(),
    SAYS('label tier on 2 nodes (field manager unknown), taint gold:NoSchedule on 2 nodes (field manager unknown)'),
  );
  assert.match((await text(poolWith(), node => node === 'b')) ?? '', /label tier on 1 node /);
});

test('a watch keeps what an earlier process found for an hour, unless the pool is edited', async () => {
  const { clock, text, contestedKeys } = begin();
  assert.equal(await text(poolWith(TIER)), TIER);
  assert.equal(contestedKeys.endsAfterMs(poolWith(TIER)), 60 * MINUTE);
  assert.equal(await text(poolWith(TIER, 2)), undefined);
  clock.freeze(60 * MINUTE);
  assert.equal(await text(poolWith(TIER)), undefined);
});

test('a single run counts Events of the last hour, which it lists once when it repairs', async () => {
  const two = { hasAny: true, count: ({ key }: Change) => (key === 'tier' ? 2 : 0) };
  const { asked, repair, text, listed } = begin({ earlier: two });
  assert.equal(await text(), undefined);
  assert.equal(listed(), 0);
  await repair([drift, { ...drift, key: 'team' }]);
  assert.equal(await text(), TIER);
  assert.deepEqual([listed(), asked.length], [1, 1]);
});

test('in a single run, keys stay contested with one repair an hour', async () => {
  const one = { hasAny: true, count: () => 1 };
  const again = begin({ earlier: one });
  await again.repair([drift], 'a', poolWith(TIER));
  assert.match((await again.text(poolWith(TIER))) ?? '', /label tier on 1 node/);
  for (const [earlier, expected] of [
    [one, TIER],
    [{ hasAny: false, count: () => 0 }, undefined],
    ['forbidden', TIER],
  ] as const) {
    assert.equal(await begin({ earlier }).text(poolWith(TIER)), expected);
  }
});

test('limits the keys of a node, and forgets those of a deleted pool', async () => {
  const { clock, contestedKeys, repair, text } = begin();
  const keys = Array.from({ length: 25_000 }, (_, at): Change => ({ ...drift, key: `key-${at}` }));
  for (let round = 1; round <= 3; round++) await repair(keys);
  assert.match((await text()) ?? '', /: label key-0 on 1 node .* and 15 more; next/, '20 keys of a node');
  for (let round = 1; round <= 3; round++) await repair([drift], 'b');
  assert.match((await text(poolWith(), name => name === 'b')) ?? '', /: label tier on 1 node /);
  clock.freeze(60 * MINUTE);
  for (let round = 1; round <= 3; round++) await repair([drift]);
  assert.equal(await text(), TIER, 'older ones make room');
  contestedKeys.forget('worker');
  assert.equal(await text(), undefined);
});

test('keeps the nodes that were repaired last when there are too many', async () => {
  const { repair, text } = begin();
  for (let at = 0; at < 10_000; at++) await repair([drift], `n${at}`);
  for (let round = 1; round <= 3; round++) await repair([drift], 'new');
  assert.equal(await text(), TIER);
});

test('a recreated node counts as the same node, a recreated pool as a new one', async () => {
  const { contestedKeys, repair, text } = begin();
  for (const uid of ['a-1', 'a-2'])
    for (let round = 1; round <= 3; round++) await repair([drift], 'a', poolWith(), uid);
  assert.equal(await text(), TIER);
  const other = aPool({}, { uid: 'pool-2', generation: 1 });
  assert.equal(contestedKeys.endsAfterMs(other), undefined);
  assert.equal(await text(other), undefined);
});
