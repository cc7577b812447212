/** What `drain` and pools with `noExecute: Drain` share: evictions, refusals and retries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EvictionsClient, RemovalResult } from '../../../../src/kube/cluster.ts';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { Evictor, type EvictorOptions } from '../../../../src/reconciler/evict/evictor.ts';
import { makePod } from '../../commands/drain/fake-drain-cluster.ts';
import { FakeClock } from '../../controller/fake-clock.ts';

const ACCEPTED: RemovalResult = { kind: 'accepted' };
const budget = (message: string): RemovalResult => ({ kind: 'budget', budget: 'web', message });

/** @param answers of each request, one after the other */
function started(answers: (RemovalResult | NodepoolError)[], options: Partial<EvictorOptions> = {}) {
  const clock = new FakeClock();
  const [sent, events, errors]: [string[], string[], string[]] = [[], [], []];
  const evictor = new Evictor({
    node: 'a',
    clock,
    onEvent: event => events.push(`${event.kind} ${event.pod}${event.kind === 'blocked' ? `: ${event.why}` : ''}`),
    ...options,
  });
  const client = {
    async evict({ name }: DrainPod) {
      sent.push(name);
      const answer = answers.shift() ?? ACCEPTED;
      if (answer instanceof NodepoolError) throw answer;
      return answer;
    },
  } as unknown as EvictionsClient;
  const atOnce = (...pods: DrainPod[]) =>
    evictor.evictAtOnce(
      pods,
      client,
      work => work(),
      (_, answer) => {
        if (answer instanceof NodepoolError) errors.push(answer.message);
      },
    );
  const pastRollout = (...pods: DrainPod[]) =>
    evictor.evictInTurn(pods, client, { limitMs: 2_000, goesOn: async () => 'goes on', onAnswer: () => {} });
  return { clock, evictor, sent, events, errors, atOnce, pastRollout };
}

test('announces a pod once, reports each refusal once, and retries a blocked pod after the delay', async () => {
  const pod = makePod({ name: 'p' });
  const { clock, evictor, sent, events, atOnce } = started([budget('needs 2'), budget('needs 2'), budget('needs 3')]);
  await atOnce(pod);
  await atOnce(pod);
  assert.deepEqual([sent.length, evictor.dueInMs(pod), evictor.blockedMs()], [1, 5_000, 5_000]);
  for (let round = 1; round <= 3; round++) {
    await clock.advance(5_000);
    await atOnce(pod);
  }
  assert.deepEqual([sent.length, evictor.dueInMs(pod), evictor.blockedPods.size], [4, undefined, 0]);
  evictor.see([pod]);
  evictor.see([]);
  assert.deepEqual(events, [
    'asking ns/p',
    'blocked ns/p: PodDisruptionBudget ns/web: needs 2',
    'blocked ns/p: PodDisruptionBudget ns/web: needs 3',
    'gone ns/p',
  ]);
  assert.equal(evictor.evicted.size, 0);
});

test('waits as long as a busy server asks, and retries a pod after a conflict with the next list', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map(name => makePod({ name }));
  assert.ok(a && b && c);
  const busy: RemovalResult = { kind: 'busy', afterMs: 30_000, message: 'try later' };
  const { evictor, events, atOnce } = started([
    busy,
    { kind: 'changed' },
    { kind: 'namespace ends', message: 'it ends' },
  ]);
  await atOnce(a, b, c);
  assert.deepEqual(
    [a, b, c].map(pod => evictor.dueInMs(pod)),
    [30_000, 0, 5_000],
  );
  await atOnce(b);
  assert.deepEqual(events.filter(line => line === 'asking ns/b').length, 1);
  assert.deepEqual(
    events.filter(line => line.startsWith('blocked')),
    ['blocked ns/a: the server: try later', 'blocked ns/c: the deletion of its namespace: it ends'],
  );
});

test('waits for a pod that terminates in a terminating namespace, except in a dry run', async () => {
  const pod = makePod({ name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' });
  for (const isDryRun of [false, true]) {
    const { evictor, atOnce } = started([{ kind: 'namespace ends', message: 'it ends' }], { isDryRun });
    await atOnce(pod);
    assert.deepEqual([evictor.evicted.size, evictor.blockedPods.size], isDryRun ? [0, 1] : [1, 0]);
  }
});

test('reports a pod with several budgets as an error, and evicts the other pods', async () => {
  const [a, b] = ['a', 'b'].map(name => makePod({ name }));
  assert.ok(a && b);
  const many: RemovalResult = { kind: 'many budgets', budgets: ['x', 'y'] };
  const message = 'pod ns/a has more than one PodDisruptionBudget, so the server cannot evict it: x, y';
  const first = started([many], { otherwise: ', or give up' });
  await first.atOnce(a, b);
  assert.deepEqual([first.errors, first.sent], [[message], ['a', 'b']]);
  const second = started([many], { otherwise: ', or give up' });
  await assert.rejects(second.pastRollout(a, b), {
    message,
    next: 'keep only one of the PodDisruptionBudgets, or give up',
  });
  assert.deepEqual(second.sent, ['a', 'b']);
});

test('a refusal applies to all similar pods, and a terminating pod is not evicted', async () => {
  const pods = ['a', 'b'].map(name => makePod({ name, labels: { app: 'web' } }));
  const other = makePod({ name: 'c', labels: { app: 'db' } });
  const ends = makePod({ name: 'd', deletionTimestamp: '2026-01-01T00:00:00Z' });
  const { evictor, sent, events, pastRollout } = started([budget('needs 2')]);
  assert.equal(await pastRollout(...pods, other, ends), 'goes on');
  assert.deepEqual([sent, evictor.blockedPods.size], [['a', 'c'], 2]);
  assert.deepEqual(
    events.filter(line => line.startsWith('asking')),
    ['asking ns/a', 'asking ns/c'],
  );
});

test('evicts no further pod after the signal', async () => {
  const stop = new AbortController();
  const { sent, atOnce, pastRollout } = started([], { signal: stop.signal });
  stop.abort();
  await atOnce(makePod({ name: 'a' }));
  assert.equal(await pastRollout(makePod({ name: 'b' })), 'waits');
  assert.deepEqual(sent, []);
});
