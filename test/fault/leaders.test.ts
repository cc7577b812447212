/** Two processes; the leader is stopped for longer than its lease while it has work, then continued. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditLines } from '../cluster/audit.ts';
import { clientCertificate } from '../cluster/certificates.ts';
import { raw } from '../cluster/raw.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isReconcileWrite, isWrite } from './asked.ts';
import { converged, startChild, type Test, useFaultEnv } from './fault-env.ts';
import { assertNeverBack, auditMark, createsAndDeletes } from './oracle.ts';
import { type FaultProxy, startProxy } from './proxy.ts';
import { row } from './row.ts';
import { answerWith } from './treatments.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubectl-nodepool';
const MANY = 60;
const NAMES = Array.from({ length: MANY }, (_, at) => `n${at}`);
/** A write would arrive within this time after it continues. */
const LATE_MS = 500;
const LONGER_THAN_A_LEASE_MS = 16_000;

const testEnv = useFaultEnv();
const isWork = (asked: Asked) => isWrite(asked) && asked.path !== LEASE;
const isNodeWrite = (asked: Asked) => isReconcileWrite(asked) && /\/nodes\//.test(asked.path);

async function holder(): Promise<string> {
  const { body } = await raw(testEnv.cluster()).request('GET', LEASE);
  return (body as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? '';
}

async function labelled(): Promise<number> {
  const path = '/api/v1/nodes?labelSelector=tier%3Dgold';
  const { items } = (await raw(testEnv.cluster()).expect('GET', path)) as { items: object[] };
  return items.length;
}

/** Write requests of the user after that time, without leases. */
async function writesAfter(user: string, moment: number): Promise<string[]> {
  const lines = await auditLines(testEnv.cluster());
  return lines
    .map(line => JSON.parse(line))
    .filter(event => event.user.username === user && !/^(get|list|watch)$/.test(event.verb))
    .filter(event => event.objectRef?.resource !== 'leases' && Date.parse(event.requestReceivedTimestamp) > moment)
    .map(({ verb, objectRef, responseStatus }) => `${verb} ${objectRef?.name}: ${responseStatus?.code}`);
}

/** A proxy for an administrator of that name. */
async function proxyAs(t: Test, user: string): Promise<FaultProxy> {
  const { server, ca, authority, dir } = testEnv.cluster();
  const proxy = await startProxy({ server, ca, admin: clientCertificate(authority, user, ['system:masters']) }, dir);
  t.after(() => proxy.stop());
  return proxy;
}

/** Holds the response to the Nth write of a node. Resolves when the server has sent it, with a function that forwards it. */
function holdAnswer(proxy: FaultProxy, nth: number): Promise<() => void> {
  let writes = 0;
  return new Promise(resolve => {
    const undo = proxy.onRequest(asked => {
      if (!isNodeWrite(asked) || ++writes < nth) return undefined;
      undo();
      return async ({ forward, pass }) => {
        const answer = await forward();
        resolve(() => pass(answer));
      };
    });
  });
}

row(
  {
    fault: 'two leaders',
    how: 'the leader is suspended (SIGSTOP) during its writes until another process leads, then continued',
    holds: 'it writes nothing afterwards, by the audit log; same end state, nothing is created twice',
  },
  async (t, facts) => {
    const model = testEnv.model();
    await model.addNodes(...NAMES.map(name => ({ name, labels: role('one') })));
    const [first, second] = [await proxyAs(t, 'first'), await proxyAs(t, 'second')];
    const halted = startChild(t, first, '--leader-elect', '--concurrency=1');
    await eventually('the first is leader', async () => (await holder()) !== '');
    const leader = await holder();
    const others = [startChild(t, second, '--leader-elect')];
    await others[0]?.synced();
    // As its Deployment does: on a busy machine it may lose its own lease.
    const restarting = setInterval(() => {
      if (others.at(-1)?.isAlive === false) others.push(startChild(t, second, '--leader-elect'));
    }, 500);
    t.after(() => clearInterval(restarting));
    const mark = await auditMark(testEnv.cluster());
    const amid = holdAnswer(first, 20);
    await model.createPool('one', { labels: { tier: 'gold' }, handler: 'runc' });
    const answer = await amid;
    halted.signal('SIGSTOP');
    const [stopped, asked] = [Date.now(), first.requests.length];
    // The first event after it continues: it may send the next request.
    answer();
    const done = await labelled();
    assert.ok(done < MANY, 'it was halted too late to show anything');

    await eventually('the second is leader', async () => (await holder()) !== leader, 40_000);
    facts.secondsWithoutLeader = Math.round((Date.now() - stopped) / 100) / 10;
    // Hundreds of nodes are left to it.
    await converged(model, second, 120_000);
    assert.equal(await halted.end('SIGCONT'), 1);
    assert.match(halted.log(), /lost the lease/);
    await sleep(LATE_MS);
    // Only a write that was allowed but not yet sent could arrive late (the transport checks in the same turn as it
    // sends), and the held write occupied its only request slot.
    assert.deepEqual(first.requests.slice(asked).filter(isWork), []);
    assert.deepEqual(await writesAfter('first', stopped), []);
    facts.writesLeftToTheHalted = MANY - done;
    await model.drift('n0', { tier: 'drifted' });
    await converged(model, second);
    await assertOnce(mark, first, second);
    clearInterval(restarting);
    assert.equal(await others.at(-1)?.end(), 0);
  },
);

/** Nothing was created twice, whoever led, and no watch started from an older state. */
async function assertOnce(mark: number, ...proxies: FaultProxy[]): Promise<void> {
  assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), { 'create runtimeclasses node-pool-one': 1 });
  for (const { requests } of proxies) assertNeverBack(requests);
}

row(
  {
    fault: 'two leaders',
    slow: true,
    how: 'the server answers all writes of nodes with 429 for longer than a Lease lasts; then the leader is suspended',
    holds: 'the leader renews its Lease meanwhile; after the Lease has expired it does not retry these writes',
  },
  async (t, facts) => {
    const [proxy, second, model] = [await testEnv.proxy(t), await testEnv.proxy(t), testEnv.model()];
    const mark = await auditMark(testEnv.cluster());
    // More than the requests in flight of a process.
    const names = NAMES.slice(0, 40);
    await model.addNodes(...names.map(name => ({ name, labels: role('one') })));
    const putOff = () =>
      proxy.onRequest(asked => (isNodeWrite(asked) ? answerWith(429, 'busy', { 'retry-after': '5' }) : undefined));
    const arePutOff = (from: number) => () => proxy.requests.slice(from).some(isNodeWrite);
    const once = putOff();
    const halted = startChild(t, proxy, '--leader-elect');
    await eventually('it is leader', () => halted.lines(/ became leader: /).length > 0, 30_000);
    const leader = await holder();
    await model.createPool('one', { labels: { tier: 'gold' }, handler: 'runc' });
    await eventually('as many as it has at a time are put off', () => proxy.requests.filter(isNodeWrite).length >= 30);
    await sleep(LONGER_THAN_A_LEASE_MS);
    assert.equal(await holder(), leader);
    assert.ok(halted.isAlive, halted.log());
    once();
    await converged(model, proxy);

    const again = putOff();
    const drifted = proxy.requests.length;
    await Promise.all(names.map(name => model.drift(name, { tier: 'drifted' })));
    await eventually('its writes are put off', arePutOff(drifted));
    halted.signal('SIGSTOP');
    const other = startChild(t, second, '--leader-elect');
    await eventually('the other does it all', async () => (await labelled()) === names.length, 30_000);
    await converged(model, second);
    again();
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
    await assertOnce(mark, proxy, second);
    assert.equal(await other.end(), 0);
  },
);
