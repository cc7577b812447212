/** Drains by the node writer: when it looks, what it evicts, and what it remembers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DrainPod } from '../../../src/nodepool/drain-filters.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { rolloutHash } from '../../../src/nodepool/rollout-hash.ts';
import { FINALIZER, type NodePoolSpec } from '../../../src/nodepool/types.ts';
import type { EvictionEvent } from '../../../src/reconciler/node-drainer.ts';
import type { NodeWriterDeps } from '../../../src/reconciler/node-writer.ts';
import type { EvictionsClient, Removal } from '../../../src/reconciler/ports.ts';
import { aNode, aPool, recordOf, taint } from '../nodepool/fixtures.ts';
import { begin, role } from './node-server.ts';

const SPEC: NodePoolSpec = { noExecute: 'Drain', taints: [taint('dedicated=x:NoExecute')] };
const pool = (more: NodePoolSpec = {}) => aPool({ ...SPEC, ...more }, { finalizers: [FINALIZER] });
const BUDGET: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods and has 2 currently' };

const pod = (name: string, more: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'ns',
  name,
  uid: `uid-${name}`,
  phase: 'Running',
  labels: {},
  isReady: true,
  isMirror: false,
  hasEmptyDir: false,
  placement: { nodeSelector: {}, nodeTerms: undefined, tolerations: [] },
  ...more,
});

/** A member with pods; an accepted eviction marks the pod, and the test removes it. */
function drained(
  pods: DrainPod[],
  more: Partial<NodeWriterDeps> = {},
  by = pool(),
  node = aNode({ labels: role('worker') }),
) {
  const events: string[] = [];
  const on = new Map(pods.map(each => [each.name, each]));
  const answers = new Map<string, Removal | NodepoolError>();
  const onEviction = (event: EvictionEvent) => void events.push(`${event.kind} ${event.pod}`);
  const begun = begin(node, [by], { onEviction, ...more });
  const { server, writer, clock, state } = begun;
  const client: EvictionsClient = {
    async podsOn() {
      server.requests.push('list');
      return [...on.values()];
    },
    async evict(one) {
      server.requests.push(`evict ${one.name}`);
      const answer = answers.get(one.name) ?? { kind: 'accepted' };
      if (answer instanceof NodepoolError) throw answer;
      if (answer.kind === 'accepted') on.set(one.name, { ...one, deletionTimestamp: '2026-01-01T00:00:00Z' });
      return answer;
    },
  };
  Object.assign(server.port, { evictions: async () => client });
  /** Writes once, and says what was sent to the server and to pods since. */
  const write = async () => {
    server.requests.length = 0;
    await writer.write('n1');
    return [...server.requests];
  };
  const taints = () => (server.live?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  return { ...begun, calls: server.requests, events, on, answers, write, taints, clock, state };
}

test('twin, evictions at once, a look after 2 s, and the taint only after a list that found none', async () => {
  const { write, on, clock, taints, events } = drained([pod('a'), pod('b'), pod('done', { phase: 'Succeeded' })]);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a', 'evict b']);
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  assert.deepEqual(await write(), [], 'it is not due');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list'], 'they terminate');
  on.delete('a');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list']);
  on.delete('b');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
  assert.deepEqual(events, ['asking ns/a', 'asking ns/b', 'gone ns/a', 'gone ns/b']);
  assert.deepEqual(await write(), []);
});

test('an empty node is looked at again once the twin was there for 2 s', async () => {
  const { write, on, clock, taints } = drained([]);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  // Bound by a scheduler that had not seen the twin.
  on.set('late', pod('late'));
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'evict late']);
  on.clear();
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
});

test('a conflict of the last write lists the pods again', async () => {
  const { write, on, clock, server } = drained([]);
  await write();
  await clock.advance(2_600);
  server.onPatch = attempt => {
    if (attempt !== 2) return undefined;
    server.change({ allocatable: { cpu: '2' } });
    on.set('late', pod('late'));
    return { kind: 'conflict' };
  };
  assert.deepEqual(await write(), ['list', 'patch n1', 'get n1', 'list', 'evict late']);
});

test('two budgets of one pod: an error with both names and no flag of drain; the other pods are evicted', async () => {
  const { write, answers, taints } = drained([pod('a'), pod('b')]);
  answers.set('a', { kind: 'many budgets', budgets: ['one', 'two'] });
  await assert.rejects(write(), {
    message: 'pod ns/a has more than one PodDisruptionBudget, and the server evicts no such pod: one, two',
    next: 'keep one of them',
  });
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
});

test('a budget: tried again after 5 s, told once, and asked once for all pods that are alike', async () => {
  const pods = ['a', 'b', 'c'].map(name => pod(name, { labels: { app: 'web' } }));
  const { write, answers, clock, events, writer } = drained([
    ...pods,
    pod('free'),
    pod('other', { labels: { app: 'web', pod: '1' } }),
  ]);
  answers.set('a', BUDGET);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a', 'evict free', 'evict other']);
  const state = writer.drainer.stateOf(['n1']);
  assert.equal(
    state.blocked,
    'pod ns/a on node n1 waits for PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
  );
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list'], 'the free one terminates');
  await clock.advance(4_000);
  assert.deepEqual(await write(), ['list', 'evict a']);
  assert.equal(events.filter(event => event === 'held ns/a').length, 1);
  answers.clear();
  await clock.advance(6_500);
  assert.deepEqual(await write(), ['list', 'evict a', 'evict b', 'evict c']);
  assert.equal(writer.drainer.stateOf(['n1']).blocked, undefined);
});

test('a pod that is held back for 30 s is worth an Event, once', async () => {
  const { write, answers, clock, writer } = drained([pod('a')]);
  answers.set('a', BUDGET);
  await write();
  const told: string[] = [];
  for (let at = 0; at < 10; at++) {
    await clock.advance(6_500);
    await write();
    told.push(...writer.drainer.takeStuck(['n1']));
  }
  assert.deepEqual(told, [
    'pod ns/a on node n1 waits for PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
  ]);
});

test('pods that come back are evicted last, and the taint follows while they terminate', async () => {
  const tolerations = [{ operator: 'Exists', effect: 'NoSchedule' }];
  const agent = pod('agent', { placement: { nodeSelector: {}, nodeTerms: undefined, tolerations } });
  const { write, on, clock, taints } = drained([agent, pod('a')]);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  on.delete('a');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'evict agent', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('an error stops no other pod, is told until the next look, and is one of the node', async () => {
  const forbidden = new NodepoolError('cluster', 'cannot evict', 'ask', { isPermanent: true });
  const { write, answers, clock, calls, writer } = drained([pod('a'), pod('b')]);
  answers.set('a', forbidden);
  await assert.rejects(write(), { message: 'cannot evict', isHeldBack: false, retryAfterMs: 30_000 });
  assert.deepEqual(calls, ['patch n1', 'list', 'evict a', 'evict b']);
  assert.deepEqual(writer.drainer.stateOf(['n1']).afterMs, undefined, 'it is a failure');
  await clock.advance(10_000);
  await assert.rejects(write(), { message: 'cannot evict', isHeldBack: true, retryAfterMs: 20_000 });
  assert.deepEqual(calls, []);
  answers.clear();
  await clock.advance(20_000);
  assert.deepEqual(await write(), ['list', 'evict a']);
});

test('a spec that changes while pods are listed', async () => {
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

test('a pool that is paused while pods are listed: the taint is not set', async () => {
  const found = drained([]);
  const metadata = { ...pool().metadata, generation: 2, resourceVersion: '99' };
  const taints = await meanwhile(found, () => found.state.setPool({ ...pool({ paused: true }), metadata }));
  assert.deepEqual(taints, ['dedicated:NoSchedule']);
});

test('a twin that somebody removes while pods are listed: the list does not count', async () => {
  const found = drained([]);
  const { server, state } = found;
  const taints = await meanwhile(found, () => {
    server.change({ taints: [] });
    if (server.live !== undefined) state.setNode(server.live);
  });
  assert.deepEqual(taints, ['dedicated:NoSchedule']);
});

test('a dry run evicts nothing, and ends with the taint', async () => {
  const { write, taints } = drained([pod('a')], { dryRun: true });
  assert.deepEqual(await write(), ['patch n1', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('a twin that somebody removed has to be seen again before a list counts', async () => {
  const { write, clock, server, state, taints } = drained([]);
  await write();
  await clock.advance(2_600);
  server.change({ taints: [] });
  if (server.live !== undefined) state.setNode(server.live);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
});

test('who agreed to evictions within budgets did not agree to a taint at once', async () => {
  const consent = new Set(['n1 dedicated=x:NoExecute after evictions']);
  const immediate = aPool({ taints: SPEC.taints ?? [] }, { finalizers: [FINALIZER] });
  await assert.rejects(drained([pod('a')], { consent }, immediate).write(), /which was not agreed to/);
  const { write, clock, on, taints } = drained([pod('a')], { consent });
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  on.clear();
  await clock.advance(2_600);
  await write();
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('no pod is evicted without consent, nor after the signal', async () => {
  const { write } = drained([pod('a')], { consent: new Set(['n1 other=x:NoExecute']) });
  await assert.rejects(write(), /dedicated=x:NoExecute, which was not agreed to/);
  const agreed = drained([pod('a')], { consent: new Set(['n1 dedicated=x:NoExecute']) });
  assert.deepEqual(await agreed.write(), ['patch n1', 'list', 'evict a']);
  const stop = new AbortController();
  stop.abort();
  assert.deepEqual(await drained([pod('a')], { signal: stop.signal }).write(), ['patch n1', 'list']);
});

test('without caches, a node is read again before its pods are evicted', async () => {
  const { write, clock, server, taints } = drained([pod('a')], { isFollowed: false });
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

test('a rollout that is stopped evicts nothing, and goes on when it is resumed', async () => {
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

test('a node that fails while another gets its twin: no pod of that one is evicted', async () => {
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
