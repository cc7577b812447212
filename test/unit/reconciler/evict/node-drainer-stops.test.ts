/** Drains by the node writer: events that stop evictions and the taint, even at the last moment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutHash } from '../../../../src/nodepool/rollout/rollout.ts';
import { FINALIZER, type NodePool, type NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';
import { drained, pod, pool, SPEC } from '../drained.ts';
import { role } from '../node-server.ts';

test('sets no NoExecute taint when the spec changes while pods are listed', async () => {
  const found = drained([]);
  const { write, clock, state, taints } = found;
  await write();
  await clock.advance(2_600);
  const more = { taints: [...(SPEC.taints ?? []), taint('gpu:NoExecute')] };
  const evictions = await found.server.port.evictions();
  Object.assign(evictions, {
    podsOn: async () => {
      const known = state.pool('worker');
      if (known?.metadata.generation === 1)
        state.setPool({ ...pool(more), metadata: { ...pool().metadata, generation: 2, resourceVersion: '99' } });
      return [];
    },
  });
  await write();
  assert.deepEqual(taints(), ['dedicated:NoSchedule', 'gpu:NoSchedule'], 'another look is due for the new taint');
});

/** Runs `during` while the pods are listed that decide about the taint: there are none. */
async function meanwhile(found: ReturnType<typeof drained>, during: () => void): Promise<string[]> {
  await found.write();
  await found.clock.advance(2_600);
  const evictions = await found.server.port.evictions();
  let isOver = false;
  Object.assign(evictions, {
    podsOn: async () => {
      if (!isOver) during();
      isOver = true;
      return [];
    },
  });
  await found.write();
  return found.taints();
}

test('sets no NoExecute taint when the pool is paused while pods are listed', async () => {
  const found = drained([]);
  const metadata = { ...pool().metadata, generation: 2, resourceVersion: '99' };
  const taints = await meanwhile(found, () => found.state.setPool({ ...pool({ paused: true }), metadata }));
  assert.deepEqual(taints, ['dedicated:NoSchedule']);
});

test('discards the list of pods when somebody removes the stand-in taint meanwhile', async () => {
  const found = drained([]);
  const { server, state } = found;
  const taints = await meanwhile(found, () => {
    server.change({ taints: [] });
    if (server.live !== undefined) state.setNode(server.live);
  });
  assert.deepEqual(taints, ['dedicated:NoSchedule']);
});

test('consent to evictions within budgets does not include setting a taint at once', async () => {
  const consent = new Set(['n1 dedicated=x:NoExecute after evictions']);
  const immediate = aPool({ taints: SPEC.taints ?? [] }, { finalizers: [FINALIZER] });
  await assert.rejects(drained([pod('a')], { consent }, immediate).write(), /which was not shown before/);
  const { write, clock, on, taints } = drained([pod('a')], { consent });
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  on.clear();
  await clock.advance(2_600);
  await write();
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('evicts no pod without consent', async () => {
  const { write } = drained([pod('a')], { consent: new Set(['n1 other=x:NoExecute']) });
  await assert.rejects(write(), /dedicated=x:NoExecute, which was not shown before/);
  const agreed = drained([pod('a')], { consent: new Set(['n1 dedicated=x:NoExecute']) });
  assert.deepEqual(await agreed.write(), ['patch n1', 'list', 'evict a']);
});

test('without caches, reads a node again before it evicts pods', async () => {
  const { write, clock, server, taints } = drained([pod('a')], { hasCaches: false });
  assert.deepEqual(await write(), ['patch n1', 'get n1', 'list', 'evict a']);
  server.change({ labels: {} });
  await clock.advance(2_600);
  const calls = await write();
  assert.ok(!calls.includes('list'), String(calls));
  assert.deepEqual(taints(), [], 'it has left the pool');
});

test('a paused pool evicts nothing', async () => {
  const { write, clock, state } = drained([pod('a')]);
  await write();
  state.setPool({ ...pool({ paused: true }), metadata: { ...pool().metadata, generation: 2, resourceVersion: '99' } });
  await clock.advance(2_600);
  assert.deepEqual(await write(), []);
});

test('a stopped rollout evicts nothing until it is resumed', async () => {
  const rolled = pool({ rollout: { maxConcurrent: 2, settleSeconds: 600 } });
  const node = aNode({ labels: role('worker'), record: '{"pool":"worker"}' });
  const { write, clock, state } = drained([pod('a')], {}, rolled, node);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  const changed = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const stamp = { changed, rollout: rolloutHash(rolled) };
  const done = recordOf({ pool: 'worker', taints: { 'dedicated:NoExecute': 'x' }, ...stamp });
  const failed = aNode({
    name: 'n2',
    uid: 'uid-n2',
    labels: role('worker'),
    taints: SPEC.taints ?? [],
    record: done,
    ready: false,
    readySince: Math.floor(Date.now() / 1000) - 30,
  });
  state.setNode(failed);
  await clock.advance(2_600);
  assert.deepEqual(await write(), [], 'a changed node has turned NotReady');
  state.setNode({ ...failed, resourceVersion: '8', ready: true });
  assert.deepEqual(await write(), ['list']);
});

test('evicts no pod of a node when another node fails meanwhile', async () => {
  const rolled = pool({ rollout: {} });
  const [taints, record] = [[taint('dedicated=w:NoExecute')], { 'dedicated:NoExecute': 'w' }];
  const member = { labels: role('worker'), taints, record: recordOf({ pool: 'worker', taints: record }) };
  const { server, state, write } = drained([pod('a')], {}, rolled, aNode(member));
  const failed = aNode({
    ...member,
    name: 'n2',
    uid: 'uid-n2',
    record: recordOf({ pool: 'worker', taints: record, changed: '2026-05-01T12:00:00Z', rollout: rolloutHash(rolled) }),
    taints: SPEC.taints ?? [],
  });
  state.setNode(failed);
  server.onPatch = () => {
    const readySince = Math.floor(Date.now() / 1000);
    state.setNode({ ...failed, resourceVersion: '8', ready: false, readySince });
    return undefined;
  };
  assert.deepEqual(await write(), ['patch n1']);
});

const edited = (spec: NodePoolSpec, more: Partial<NodePool['metadata']> = {}): NodePool => ({
  ...aPool(spec),
  metadata: { ...pool().metadata, generation: 2, resourceVersion: '99', ...more },
});
const CHANGES: [what: string, change: NodePool | undefined][] = [
  ['paused', edited({ ...SPEC, paused: true })],
  ['edited to remove the taint', edited({ noExecute: 'Drain' })],
  ['edited so that the node is no member', edited({ ...SPEC, nodeSelector: { other: 'x' } })],
  ['deleted', edited(SPEC, { deletionTimestamp: '2026-01-02T00:00:00Z' })],
  ['not found', undefined],
];

for (const [what, change] of CHANGES) {
  test(`sends no further evictions when the pool is ${what} after the first of three`, async () => {
    const found = drained([pod('a'), pod('b'), pod('c')]);
    onFirstEviction(found, () => {
      if (change === undefined) found.state.removePool('worker', pool().metadata.uid);
      else found.state.setPool(change);
    });
    const calls = await found.write();
    assert.deepEqual(calls.filter(isEviction), ['evict a']);
    const taints = what === 'paused' ? ['dedicated:NoSchedule'] : [];
    assert.deepEqual(found.taints(), taints);
  });

  test(`without caches, sends no eviction a second after the pool is ${what} on the server`, async () => {
    const found = drained([pod('a'), pod('b'), pod('c')], { hasCaches: false });
    const reads: (NodePool | undefined)[] = [];
    let live: NodePool | undefined = pool();
    Object.assign(found.server.port.pools, {
      getCoerced: async () => {
        reads.push(live);
        return live;
      },
    });
    onFirstEviction(found, () => {
      live = change;
      return found.clock.advance(1_000);
    });
    assert.deepEqual((await found.write()).filter(isEviction), ['evict a']);
    assert.equal(reads.length, 1, 'once a second');
    assert.deepEqual((await found.write()).filter(isEviction), [], 'nor in a look right after');
    assert.deepEqual(found.taints(), ['dedicated:NoSchedule'], 'the end of the run reports it');
  });
}

test('sets the stand-in for a new taint value before it evicts further pods', async () => {
  const found = drained([pod('a'), pod('b')]);
  onFirstEviction(found, () => found.state.setPool(edited({ ...SPEC, taints: [taint('dedicated=y:NoExecute')] })));
  assert.deepEqual(await found.write(), ['patch n1', 'list', 'evict a', 'patch n1', 'list', 'evict b']);
  assert.deepEqual(found.server.live?.taints, [taint('dedicated=y:NoSchedule')]);
});

test('sends no further evictions when the node leaves the pool or is deleted', async () => {
  for (const hasCaches of [true, false]) {
    for (const labels of [{}, undefined]) {
      const found = drained([pod('a'), pod('b')], { hasCaches });
      const { server, state, clock } = found;
      Object.assign(server.port.pools, { getCoerced: async () => pool() });
      onFirstEviction(found, async () => {
        if (labels === undefined) server.live = undefined;
        else server.change({ labels });
        if (!hasCaches) await clock.advance(1_000);
        else if (server.live === undefined) state.removeNode('n1', aNode({}).uid);
        else state.setNode(server.live);
      });
      assert.deepEqual((await found.write()).filter(isEviction), ['evict a']);
    }
  }
});

test('sends no further evictions when the rollout stops', async () => {
  const rolled = pool({ rollout: { settleSeconds: 600 } });
  const found = drained(
    [pod('a'), pod('b')],
    {},
    rolled,
    aNode({ labels: role('worker'), record: '{"pool":"worker"}' }),
  );
  const { state } = found;
  onFirstEviction(found, () => {
    const changed = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const record = recordOf({
      pool: 'worker',
      taints: { 'dedicated:NoExecute': 'x' },
      changed,
      rollout: rolloutHash(rolled),
    });
    const labels = role('worker');
    const readySince = Math.floor(Date.now() / 1000) - 30;
    state.setNode(
      aNode({ name: 'n2', uid: 'uid-n2', labels, taints: SPEC.taints ?? [], record, ready: false, readySince }),
    );
  });
  assert.deepEqual((await found.write()).filter(isEviction), ['evict a']);
});

const isEviction = (call: string) => call.startsWith('evict');

function onFirstEviction(found: ReturnType<typeof drained>, change: () => unknown): void {
  const accept = found.evictions.evict;
  let isFirst = true;
  found.evictions.evict = async (...args) => {
    const removal = await accept(...args);
    if (isFirst) await change();
    isFirst = false;
    return removal;
  };
}
