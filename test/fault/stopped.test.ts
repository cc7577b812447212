/** SIGTERM to a watch that has much left to do: it starts nothing new, and another process can continue at once. */
import assert from 'node:assert/strict';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from '../e2e/draining.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isReconcileWrite } from './asked.ts';
import { startChild, useFaultEnv } from './fault-env.ts';
import type { FaultProxy } from './proxy.ts';
import { row } from './row.ts';
import { delay } from './treatments.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/kubectl-nodepool';
const SLOW_MS = 250;
const testEnv = useFaultEnv();
const pods = poolsWithPods(testEnv);
const isNodeWrite = (asked: Asked) => isReconcileWrite(asked) && /\/nodes\//.test(asked.path);
const isEviction = ({ path }: Asked) => path.endsWith('/eviction');
const namesOf = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);

/** Those that arrived after that time. */
function begunAfter({ requests }: FaultProxy, is: (asked: Asked) => boolean, at: number): number {
  return requests.filter(asked => is(asked) && asked.at > at).length;
}

row(
  {
    fault: 'stopped',
    how: 'SIGTERM while the nodes of a pool are written slowly',
    holds: 'no write of a node begins after the signal; the Lease is released; exit code 0',
  },
  async (t, facts) => {
    await testEnv.nodes(...namesOf(200).map(name => ({ name, labels: role('p') })));
    await testEnv.pool('p', { labels: { tier: 'gold' } });
    const proxy = await testEnv.proxy(t);
    proxy.onRequest(asked => (isNodeWrite(asked) ? delay(SLOW_MS) : undefined));
    const flags = ['--concurrency', '2', '--leader-elect', '--leader-elect-namespace', 'default'];
    const child = startChild(t, proxy, ...flags);
    await eventually('it writes', () => proxy.requests.filter(isNodeWrite).length > 5);
    const stoppedAt = performance.now();
    assert.equal(await child.end('SIGTERM'), 0, child.log());
    facts.secondsToEnd = Math.round((performance.now() - stoppedAt) / 100) / 10;
    facts.writesBegunAfter = begunAfter(proxy, isNodeWrite, stoppedAt);
    // Requests that were sent before the signal arrived.
    assert.ok(facts.writesBegunAfter <= 2);
    const lease = (await raw(testEnv.cluster()).expect('GET', LEASE)) as { spec: { holderIdentity?: string } };
    assert.equal(lease.spec.holderIdentity ?? '', '');
    assert.equal((await testEnv.getPool('p'))?.status?.status, undefined);
    const joined = (await testEnv.events('p')).filter(({ reason }) => reason === 'NodeJoined');
    const told = joined.reduce((sum, { note }) => sum + Number(/^(\d+) node/.exec(note)?.[1]), 0);
    const path = '/api/v1/nodes?labelSelector=tier%3Dgold';
    const { items } = (await raw(testEnv.cluster()).expect('GET', path)) as { items: object[] };
    assert.deepEqual([items.length, told], [items.length, items.length]);
  },
);

row(
  {
    fault: 'stopped',
    how: 'SIGINT while the pods of 6 nodes are evicted slowly',
    holds: 'no eviction and no write begins after the signal; exit code 0; the next process goes on',
  },
  async (t, facts) => {
    const names = namesOf(6);
    await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', { noExecute: 'Drain' });
    await testEnv.reconcile();
    const all = names.flatMap(node => namesOf(12).map(pod => ({ name: `${node}-${pod}`, node, graceSeconds: 0 })));
    await Promise.all(all.map(pod => pods.pod(pod)));
    const proxy = await testEnv.proxy(t);
    proxy.onRequest(asked => (isEviction(asked) ? delay(SLOW_MS) : undefined));
    const child = startChild(t, proxy, '--concurrency', '2');
    await child.synced();
    await testEnv.edit('web', { spec: { taints: [{ key: 'gone', effect: 'NoExecute' }] } });
    await eventually('it evicts', () => proxy.requests.filter(isEviction).length > 1);
    const stoppedAt = performance.now();
    assert.equal(await child.end('SIGINT'), 0, child.log());
    facts.evictionsBegunAfter = begunAfter(proxy, isEviction, stoppedAt);
    assert.ok(facts.evictionsBegunAfter <= 2);
    assert.ok(begunAfter(proxy, isNodeWrite, stoppedAt) <= 2);
    const next = startChild(t, testEnv.cluster());
    await eventually('all are evicted', async () => (await pods.names()).length === 0);
    await eventually('the taint is set', async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === 6);
    assert.equal(await next.end(), 0);
  },
);
