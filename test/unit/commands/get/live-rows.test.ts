import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LivePool } from '../../../../src/commands/get/live-counts.ts';
import { LiveRows } from '../../../../src/commands/get/live-rows.ts';
import { formatMaintenance } from '../../../../src/nodepool/drain/maintenance.ts';
import { rolloutHash } from '../../../../src/nodepool/rollout/rollout.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

const of = (group: string) => ({ nodeSelector: { group } });
const member = (name: string, group: string, more = {}) => aNode({ name, labels: { group }, uid: name, ...more });

test('reports pools whose counts changed, at most once a second', async () => {
  const clock = new FakeClock();
  const state = new ClusterState([], [], []);
  const live = new Map<string, LivePool>();
  const told: string[] = [];
  const onChanged = (name: string) => void told.push(`${name} ${live.get(name)?.nodes}/${live.get(name)?.cordoned}`);
  const rows = new LiveRows({ state, live, onChanged, clock, serverTime: clock.wall });
  for (const pool of [aPool(of('a'), { name: 'a' }), aPool(of('b'), { name: 'b' })]) state.setPool(pool);
  state.setNode(member('n1', 'a'));
  await clock.advance(5_000);
  assert.deepEqual(told.splice(0), [], 'not before the start');
  rows.start();
  await clock.advance(1_000);
  assert.deepEqual(told.splice(0), ['a 1/0', 'b 0/0']);
  state.setNode(member('n1', 'a', { resourceVersion: '102' }));
  await clock.advance(1_000);
  assert.deepEqual(told.splice(0), [], 'a heartbeat');
  state.setNode(member('n1', 'a', { resourceVersion: '103', unschedulable: true }));
  state.setNode(member('n2', 'a'));
  await clock.advance(999);
  assert.deepEqual(told, []);
  await clock.advance(1);
  assert.deepEqual(told.splice(0), ['a 2/1'], 'two changes are one row');
  state.setNode(member('n2', 'b', { resourceVersion: '104' }));
  await clock.advance(1_000);
  assert.deepEqual(told.splice(0), ['a 1/1', 'b 1/0'], 'the pool that it left, too');
  state.removeNode('n2', 'n2');
  rows.restore(new ClusterState([...state.pools()], [member('n1', 'a')], []));
  await clock.advance(1_000);
  assert.deepEqual(told.splice(0), ['a 1/0', 'b 0/0']);
  rows.state.setNode(member('n3', 'b'));
  rows.stop();
  await clock.advance(5_000);
  assert.deepEqual(told, []);
});

test('reports a rollout that settles and maintenance that becomes overdue, when nothing else changes', async () => {
  const clock = new FakeClock();
  const until = (ms: number) => new Date(clock.wall().getTime() + ms).toISOString().replace(/\.\d+/, '');
  const spec = { ...of('a'), labels: { tier: 'gold' }, rollout: { maxConcurrent: 1 } };
  const pool = aPool(spec, { name: 'a', status: { status: 200, nodeCount: 1, observedGeneration: 1 } });
  const record = { pool: 'a', labels: { tier: 'gold' }, rollout: rolloutHash(pool), changed: until(0), generation: 1 };
  const owner = { name: 'alice', from: 'server' as const };
  const node = member('n1', 'a', {
    labels: { group: 'a', tier: 'gold' },
    record: recordOf(record),
    readySince: clock.wall().getTime() / 1000 - 3600,
    unschedulable: true,
    maintenance: formatMaintenance({ owner, since: until(0), until: until(300_000), uid: 'n1' }),
  });
  const live = new Map<string, LivePool>();
  const told: string[] = [];
  const onChanged = () => {
    const { rollout, maintenance } = live.get('a') ?? {};
    told.push(`${clock.now()} ${rollout} ${maintenance?.overdue}`);
  };
  const state = new ClusterState([pool], [node], []);
  const rows = new LiveRows({ state, live, onChanged, clock, serverTime: clock.wall });
  rows.start();
  await clock.advance(600_000);
  assert.deepEqual(told, ['1000 Progressing 0', '62000 undefined 0', '300000 undefined 1']);
  assert.equal(clock.pending, 0);
});
