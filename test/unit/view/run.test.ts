/** The dashboard on a terminal in memory: which texts it reads, and when it computes the rows again. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { rolloutHash } from '../../../src/nodepool/rollout/rollout.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { initialState, type ReadPlace, START, type ViewState } from '../../../src/view/places.ts';
import { runView } from '../../../src/view/run.ts';
import { FakeClock, flushPromises } from '../controller/fake-clock.ts';
import { fixture, node, PLAIN, pool, role } from './fixture.ts';

/** More than Ink waits between two frames. */
const FRAME_MS = 100;

type Cordon = Parameters<typeof runView>[0]['cordon'];

interface Options {
  clusterState?: ClusterState;
  cordon?: Cordon;
  /** How far the server's clock is ahead. */
  aheadMs?: number;
  state?: ViewState;
}

function open(
  t: TestContext,
  { clusterState = fixture().clusterState, cordon = () => assert.fail('it cordons'), aheadMs = 0, state }: Options = {},
) {
  const clock = new FakeClock();
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {}, ref() {}, unref() {} });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  let written = '';
  stdout.on('data', (chunk: Buffer) => {
    written += chunk.toString();
  });
  const reads: { place: ReadPlace; answer: (text: string) => void }[] = [];
  const running = runView({
    ...{ stdin, stdout, clock, now: clock.wall, style: PLAIN, clusterName: 'demo', state },
    live: {
      clusterState,
      events: () => [],
      outages: () => [],
      version: () => 1,
      serverTime: () => new Date(clock.wall().getTime() + aheadMs),
      start: async () => {},
      stop: async () => {},
    },
    usage: { setShown() {}, current: () => ({ kind: 'reading' }), version: () => 0 },
    cordon,
    read: place => new Promise(answer => reads.push({ place, answer })),
  });
  t.after(async () => {
    running.stop();
    await running.ended;
  });
  /** What is drawn since the last call. */
  const after = async (keys: string, ms = 0) => {
    for (const key of keys) {
      stdin.write(key);
      await flushPromises();
    }
    await clock.advance(ms);
    await new Promise(resolve => setTimeout(resolve, FRAME_MS));
    const drawn = stripVTControlCharacters(written);
    written = '';
    return drawn;
  };
  return { reads, after, stdin, running };
}

test('does not request a text again while a request is in flight', async t => {
  const { reads, after } = open(t);
  await after('ppp');
  assert.deepEqual(
    reads.map(({ place }) => place.kind),
    ['pods'],
  );
  reads[0]?.answer('pods of gpu');
  assert.match(await after(''), /pods of gpu/);
  await after('p');
  assert.equal(reads.length, 2);
  reads[1]?.answer('other pods');
  assert.match(await after(''), /other pods/);
});

test('reads a text again after a command, even if it had not arrived', async t => {
  const place = { ...START, kind: 'diff', pool: 'gpu' } as const;
  for (const text of ['old', undefined]) {
    const shown = text === undefined ? place : { ...place, text };
    const { reads, after } = open(t, { state: { ...initialState, places: [START, shown] } });
    await after('');
    assert.deepEqual(
      reads.map(({ place }) => [place.kind, place.pool]),
      [['diff', 'gpu']],
    );
    reads[0]?.answer('as it is now');
    assert.match(await after(''), /as it is now/);
  }
});

/** A pool whose only node was changed 30 s ago and settles for 60 s. */
function settling(changed: Date): ClusterState {
  const spec = { labels: { tier: 'gold' }, rollout: { maxConcurrent: 1, settleSeconds: 60 } };
  const web = pool('web', 200, { spec, status: { status: 200, nodeCount: 1, observedGeneration: 1 } });
  const slots = { pool: 'web', generation: 1, labels: { tier: 'gold' }, taints: {} };
  const record = JSON.stringify({
    ...slots,
    changed: changed.toISOString().replace('.000', ''),
    rollout: rolloutHash(web),
  });
  return new ClusterState([web], [node('web-1', { labels: { ...role('web'), tier: 'gold' }, record })], []);
}

test('shows a pool as Progressing until its nodes settled by the clock of the server', async t => {
  const changed = new Date(Date.UTC(2026, 0, 1) - 30_000);
  const { after } = open(t, { clusterState: settling(changed) });
  assert.match(await after(''), /web +Progressing/);
  assert.doesNotMatch(await after('', 20_000), /Ready /);
  assert.match(await after('', 15_000), /Ready /);
  const ahead = open(t, { clusterState: settling(changed), aheadMs: 60_000 });
  assert.match(await ahead.after(''), /web +Ready/);
});

const gpuNodes: ViewState = { ...initialState, places: [START, { ...START, kind: 'nodes', pool: 'gpu' }] };
const CORDONED = { result: { kind: 'changed', node: 'gpu-1' }, warning: undefined } as const;

test('ignores an answer that arrives in one chunk with the key for the question', async t => {
  const asked: string[] = [];
  const cordon: Cordon = async ({ node }) => {
    asked.push(node.name);
    return CORDONED;
  };
  const { after, stdin } = open(t, { state: gpuNodes, cordon });
  await after('');
  stdin.write('cy');
  assert.match(await after(''), /Cordon node gpu-\d\?/);
  assert.deepEqual(asked, []);
  await after('y');
  assert.equal(asked.length, 1);
});

test('waits for a cordon in progress, and prints its result after the screen', async t => {
  for (const key of ['q', 'D']) {
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Cordon>>>();
    const { after, running } = open(t, { state: gpuNodes, cordon: () => promise });
    let ended = false;
    void running.ended.then(() => {
      ended = true;
    });
    await after('c');
    await after('y');
    await after(key === 'q' ? 'qq' : key);
    assert.equal(ended, false, key);
    const error = new NodepoolError('cluster', 'cannot patch node', 'ask for a role');
    resolve({ result: { kind: 'failed', node: 'gpu-1', error }, warning: undefined });
    const { late, command } = await running.ended;
    assert.equal(command?.command, key === 'D' ? 'drain' : undefined);
    assert.deepEqual(late, [
      { text: 'error: unable to cordon node "gpu-1": cannot patch node; next: ask for a role', isError: true },
    ]);
  }
});
