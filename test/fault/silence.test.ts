/** The peer goes silent without closing sockets: only deadlines notice. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { cli } from '../cluster/harness.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList, isWatch } from './asked.ts';
import { converged, startChild, useFaultEnv } from './fault-env.ts';
import { CLASSES, type Model, POOLS } from './model.ts';
import { assertNeverBack, auditMark, createsAndDeletes } from './oracle.ts';
import type { FaultProxy, Treatment } from './proxy.ts';
import { row } from './row.ts';
import { watched } from './runs.ts';
import { CREATES_AND_DELETES, CREATES_AT_START, change, prepare } from './scenario.ts';
import { answerWith, hang, hangAnswer } from './treatments.ts';

const NODES = '/api/v1/nodes';
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
/** The deadline of a list or write, and a margin for a busy machine and the back-off. */
const [DEADLINE_S, MARGIN_S] = [30, 10];

const testEnv = useFaultEnv();

/** The response starts and stops inside a line. */
const hangInside: Treatment = async ({ forward, client }) => {
  const answer = await forward();
  client.writeHead(answer.statusCode ?? 0, { 'content-type': 'application/json' });
  answer.once('data', (piece: Buffer) => client.write(piece.subarray(0, piece.length - 10)));
};

/** Writes of each kind, by name; the first one of each gets no response. */
const WRITES: Record<string, Treatment> = {
  [`PATCH ${NODES}/alone`]: hang,
  [`PATCH ${NODES}/answered`]: hangAnswer,
  // Its finalizer.
  [`PATCH ${POOLS}/new`]: hang,
  [`PATCH ${POOLS}/status-only/status`]: hang,
  [`POST ${CLASSES}`]: hangAnswer,
  [`DELETE ${CLASSES}/node-pool-gone`]: hangAnswer,
  [`POST ${EVENTS}`]: hang,
};

/** Lists of each kind. */
const LISTS: Record<string, Treatment> = {
  [`WATCH ${NODES}`]: hang,
  [`WATCH ${POOLS}`]: hangInside,
  [`GET ${CLASSES}`]: hang,
};

const nameOf = (asked: Asked) => `${isWatch(asked) ? 'WATCH' : asked.method} ${asked.path}`;

/** Applies the treatment to the first request of each name; returns these requests. */
function hangFirst(proxy: FaultProxy, treatments: Record<string, Treatment>): Map<string, Asked> {
  const hung = new Map<string, Asked>();
  proxy.onRequest(asked => {
    const name = nameOf(asked);
    if (hung.has(name)) return undefined;
    const treatment = treatments[name];
    if (treatment !== undefined) hung.set(name, asked);
    return treatment;
  });
  return hung;
}

/** Seconds until the request was retried; fails when that is not the deadline. */
function sentAgainAfter({ requests }: FaultProxy, first: Asked): number {
  const name = nameOf(first);
  const second = requests.find(later => later.id > first.id && nameOf(later) === name);
  assert.ok(second, `${name} was not sent again`);
  const seconds = (second.at - first.at) / 1000;
  assertDeadline(seconds, name);
  return seconds;
}

function assertDeadline(seconds: number, what: string): void {
  assert.ok(seconds > DEADLINE_S - 1 && seconds < DEADLINE_S + MARGIN_S, `${what}: after ${seconds.toFixed(1)} s`);
}

/** Pools that each need one kind of write: behind a write that hangs, the next one of its pool waits. */
async function ofOneThing(model: Model): Promise<void> {
  await model.addNodes({ name: 'alone' }, { name: 'answered' });
  await model.createPool('alone', { labels: { tier: 'alone' } });
  await model.createPool('answered', { labels: { tier: 'answered' } });
  await model.createPool('status-only', {});
  await model.createPool('class-only', {});
}

row(
  {
    fault: 'connections that go silent',
    slow: true,
    how: 'open watches and writes get no more data',
    holds: 'watches resume within 45 s; writes fail after 30 s and are retried; nothing is done twice',
  },
  async (t, facts) => {
    const { proxy, model, child, mark } = await watched(testEnv, t, { also: ofOneThing });
    const begun = proxy.requests.length;

    const hung = hangFirst(proxy, WRITES);
    await model.label('alone', role('alone'));
    await model.label('answered', role('answered'));
    await change(model);
    await model.editPool('status-only', { labels: { tier: 'none' } });
    await model.editPool('class-only', { handler: 'kata' });
    await eventually('all the writes hang', () => hung.size === Object.keys(WRITES).length, 60_000);
    const since = Date.now();
    const speak = proxy.silence();
    // No watch reports these.
    await model.label('bystander', role('one'));
    await model.removeNode('stays');
    await model.createPool('late', { labels: { tier: 'late' }, handler: 'kata' });
    await sleep(500);
    speak();

    const noticed = () => child.lines(/the watch stalled/);
    await eventually('the watches are noticed', () => noticed().length === 3, 60_000);
    const seconds = noticed().map(line => (Date.parse(line.split(' ', 1)[0] ?? '') - since) / 1000);
    assert.ok(Math.max(...seconds) < 45, `noticed after ${seconds.join(', ')} s`);
    await converged(model, proxy, 60_000);

    const unsent = [...hung].flatMap(([name, asked]) => (WRITES[name] === hang ? [asked] : []));
    const again = unsent.map(asked => sentAgainAfter(proxy, asked));
    assert.equal(proxy.requests.slice(begun).filter(isList).length, 0, 'no list');
    assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), {
      ...CREATES_AND_DELETES,
      'create runtimeclasses node-pool-class-only': 1,
      'create runtimeclasses node-pool-late': 1,
    });
    assertNeverBack(proxy.requests);
    assert.equal(await child.end(), 0);
    facts.watchesNoticedAfterSeconds = Math.max(...seconds).toFixed(1);
    facts.writesSentAgainAfterSeconds = Math.max(...again).toFixed(1);
  },
);

row(
  {
    fault: 'connections that go silent',
    how: 'lists hang before the headers, inside a line or in a page',
    holds: 'the list fails after 30 s; the watch retries, and a command fails with the reason',
  },
  async (t, facts) => {
    const [proxy, other, model] = [await testEnv.proxy(t), await testEnv.proxy(t), testEnv.model()];
    await prepare(model);
    const mark = await auditMark(testEnv.cluster());
    proxy.onRequest(asked =>
      nameOf(asked) === `WATCH ${CLASSES}` && isList(asked)
        ? answerWith(422, 'sendInitialEvents is forbidden')
        : undefined,
    );
    const hung = hangFirst(proxy, LISTS);
    other.onRequest(({ path }) => (path === NODES ? hang : undefined));

    const command = cli({ ...testEnv.cluster(), kubeconfig: other.kubeconfig }, ['reconcile']);
    const child = startChild(t, proxy);
    await eventually('all the lists hang', () => hung.size === Object.keys(LISTS).length);
    const { code, stderr } = await command;
    const asked = other.requests.find(({ path }) => path === NODES);
    assertDeadline((performance.now() - (asked?.at ?? 0)) / 1000, 'reconcile ended');
    assert.equal(code, 1);
    assert.match(stderr, /gave no answer within 30 s/);

    await child.synced(60_000);
    await converged(model, proxy);
    const again = [...hung.values()].map(first => sentAgainAfter(proxy, first));
    // The page is retried without a log line if another list found the connections dead just before its deadline.
    for (const name of ['nodes', 'nodepools']) {
      const why = new RegExp(` ${name}: the list stalled.*next attempt in`);
      assert.equal(child.lines(why).length, 1, child.log());
    }
    assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), CREATES_AT_START);
    assert.equal(await child.end(), 0);
    facts.listedAgainAfterSeconds = Math.max(...again).toFixed(1);
  },
);
