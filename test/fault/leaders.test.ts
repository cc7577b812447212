/** Two processes, of which one is halted for longer than its lease while it has work, and goes on. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from '../e2e/watching.ts';
import { role } from '../e2e/world.ts';
import { type Asked, isReconcileWrite } from './proxy.ts';
import { row } from './row.ts';
import { answerWith } from './treatments.ts';
import { settled, startChild, useFaults } from './world.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubectl-nodepool';
const MANY = 300;
const NAMES = Array.from({ length: MANY }, (_, at) => `n${at}`);
/** What was on its way when the process was halted is with the server by then, however busy that is. */
const ARRIVAL_MS = 5_000;
/** After it went on, by then a write would have come. */
const LATE_MS = 500;
const LONGER_THAN_A_LEASE_MS = 16_000;

const world = useFaults();
const isNodeWrite = ({ path }: Asked) => /\/nodes\//.test(path);

async function holder(): Promise<string> {
  const { body } = await raw(world.cluster()).request('GET', LEASE);
  return (body as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? '';
}

async function labelled(): Promise<number> {
  const path = '/api/v1/nodes?labelSelector=tier%3Dgold';
  const { items } = (await raw(world.cluster()).expect('GET', path)) as { items: object[] };
  return items.length;
}

/** Writes that the user asked the server for after a moment of the time of day, each with the answer. Leases are left out. */
async function writesAfter(user: string, moment: number): Promise<{ what: string; code: number }[]> {
  const { auditLog = '' } = world.cluster();
  const lines = (await readFile(auditLog, 'utf8')).split('\n').filter(line => line !== '');
  return lines
    .map(line => JSON.parse(line))
    .filter(event => event.user.username === user && !/^(get|list|watch)$/.test(event.verb))
    .filter(event => event.objectRef?.resource !== 'leases' && Date.parse(event.requestReceivedTimestamp) > moment)
    .map(({ verb, objectRef, responseStatus }) => {
      return { what: `${verb} ${objectRef?.resource} ${objectRef?.name}`, code: responseStatus?.code ?? 0 };
    });
}

row(
  {
    fault: 'two leaders',
    how: 'the leader is halted (SIGSTOP) amid its writes until another leads, and goes on (SIGCONT)',
    holds:
      'by the audit log, after expiry no write is granted, and none is begun: one that was on its way is refused (409)',
  },
  async (t, facts) => {
    const model = world.model();
    await model.addNodes(...NAMES.map(name => ({ name, labels: role('one') })));
    const [first, second] = await Promise.all(
      ['first', 'second'].map(user => kubeconfigFor(world.cluster(), user, { groups: ['system:masters'] })),
    );
    const halted = startChild(t, { kubeconfig: first ?? '' }, '--leader-elect', '--concurrency=1');
    await eventually('the first leads', async () => (await holder()) !== '');
    const leader = await holder();
    const other = startChild(t, { kubeconfig: second ?? '' }, '--leader-elect');
    await other.synced();
    await model.createPool('one', { labels: { tier: 'gold' }, handler: 'runc' });
    await eventually('the first is amid its writes', async () => (await labelled()) >= 20);
    halted.signal('SIGSTOP');
    const stopped = Date.now();
    const done = await labelled();
    assert.ok(done < MANY, 'it was halted too late to show anything');

    await eventually('the second leads', async () => (await holder()) !== leader, 25_000);
    facts.secondsWithoutLeader = Math.round((Date.now() - stopped) / 100) / 10;
    await eventually('the second does the rest', async () => (await labelled()) === MANY);
    assert.equal(await halted.end('SIGCONT'), 1);
    assert.match(halted.log(), /the lease is lost/);
    await sleep(LATE_MS);
    const late = await writesAfter('first', stopped + ARRIVAL_MS);
    facts.late = late.length;
    // It had one request at a time: that may have been handed to the connection, and not yet to the network.
    assert.ok(late.length <= 1, JSON.stringify(late));
    assert.deepEqual(
      late.filter(({ code }) => code !== 409),
      [],
    );
    facts.writesLeftToTheHalted = MANY - done;
    await model.drift('n0', { tier: 'drifted' });
    await eventually('the second goes on', async () => (await labelled()) === MANY);
    assert.equal(await other.end(), 0);
  },
);

row(
  {
    fault: 'two leaders',
    how: 'the server puts off all writes of nodes (429) for longer than a lease lasts; then the leader is halted',
    holds: 'it renews its lease all the same; after expiry, what was put off does not come again',
  },
  async (t, facts) => {
    const [proxy, model] = [await world.proxy(t), world.model()];
    // More than a process has requests under way at a time.
    const names = NAMES.slice(0, 40);
    await model.addNodes(...names.map(name => ({ name, labels: role('one') })));
    const putOff = () =>
      proxy.onRequest(asked => (isNodeWrite(asked) ? answerWith(429, 'busy', { 'retry-after': '5' }) : undefined));
    const arePutOff = (from: number) => () => proxy.requests.slice(from).some(isNodeWrite);
    const first = putOff();
    const halted = startChild(t, proxy, '--leader-elect');
    await eventually('it leads', () => halted.lines(/ leads$/).length > 0, 30_000);
    const leader = await holder();
    await model.createPool('one', { labels: { tier: 'gold' }, handler: 'runc' });
    await eventually('as many as it has at a time are put off', () => proxy.requests.filter(isNodeWrite).length >= 30);
    await sleep(LONGER_THAN_A_LEASE_MS);
    assert.equal(await holder(), leader);
    assert.ok(halted.isAlive, halted.log());
    first();
    await settled(model, proxy);

    const second = putOff();
    const drifted = proxy.requests.length;
    await Promise.all(names.map(name => model.drift(name, { tier: 'drifted' })));
    await eventually('its writes are put off', arePutOff(drifted));
    halted.signal('SIGSTOP');
    const other = startChild(t, world.cluster(), '--leader-elect');
    await eventually('the other does it all', async () => (await labelled()) === names.length, 30_000);
    await settled(model, proxy);
    second();
    const before = proxy.requests.length;
    const goesOn = performance.now();
    assert.equal(await halted.end('SIGCONT'), 1);
    facts.secondsToEnd = Math.round((performance.now() - goesOn) / 100) / 10;
    assert.ok(facts.secondsToEnd < 5, 'nothing keeps it');
    const late = proxy.requests.slice(before).filter(isReconcileWrite);
    assert.deepEqual(
      late.map(({ method, path }) => `${method} ${path}`),
      [],
    );
    assert.equal(await other.end(), 0);
  },
);
