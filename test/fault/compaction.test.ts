/** etcd is compacted behind an API server without a watch cache, so that no cache keeps the history. */
import assert from 'node:assert/strict';
import type { LiveNode } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList } from './asked.ts';
import { compact } from './etcd.ts';
import { converged, useFaultEnv } from './fault-env.ts';
import { CLASSES, POOLS } from './model.ts';
import { auditMark, createsAndDeletes } from './oracle.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';

const NODES = '/api/v1/nodes';

const testEnv = useFaultEnv({ own: true, apiserverFlags: ['--watch-cache=false'] });

const isReleased = ({ metadata }: LiveNode) => metadata.labels.tier === undefined;
const byPath = (requests: Asked[]) =>
  Object.fromEntries([...Map.groupBy(requests, ({ path }) => path)].map(([path, asked]) => [path, asked.length]));

row(
  {
    fault: '410 Gone',
    how: 'etcd is compacted and objects are deleted while no watch is open',
    holds: 'each resource is listed again once; the deletions are noticed',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, model, child, mark } = run;
    await proxy.refuse();
    await model.removeNode('dies');
    // Without its finalizer: only the record on its node shows that the pool existed.
    await model.client.expect('PATCH', `${POOLS}/gone`, { metadata: { finalizers: null } });
    await model.deletePool('gone');
    await model.client.expect('DELETE', `${CLASSES}/node-pool-one`);
    await compact(testEnv.cluster().etcdUrl);
    const asked = proxy.requests.length;
    await proxy.accept();
    await eventually('the pool is noticed to be gone', async () => isReleased(await testEnv.node('released')), 60_000);
    // The test acts as the garbage collector.
    await model.client.expect('DELETE', `${CLASSES}/node-pool-gone`);
    await converged(model, proxy, 60_000);
    const relists = () => proxy.requests.slice(asked).filter(isList);
    assert.deepEqual(byPath(relists()), { [POOLS]: 1, [NODES]: 1, [CLASSES]: 1 });
    assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), { 'create runtimeclasses node-pool-one': 1 });
    assert.match((await testEnv.events('one')).map(({ note }) => note).join('\n'), /dies \(deleted from the cluster\)/);

    const after = await auditMark(testEnv.cluster());
    await model.createPool('gone', { labels: { tier: 'gone' }, handler: 'runc' });
    await model.addNodes({ name: 'dies' });
    await converged(model, proxy);
    await change(model);
    await judge(testEnv, { ...run, mark: after }, undefined, { 'create runtimeclasses node-pool-gone': 1 });
    assert.equal(relists().length, 3, 'no list but those');
    facts.relists = relists().length;
    assert.equal(await child.end(), 0);
  },
);
