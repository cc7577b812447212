/** etcd is compacted behind an API server without a watch cache, so that no cache keeps the history. */
import assert from 'node:assert/strict';
import { cli } from '../cluster/harness.ts';
import type { LiveNode } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList, isWatch } from './asked.ts';
import { compact } from './etcd.ts';
import { converged, startChild, useFaultEnv } from './fault-env.ts';
import { CLASSES, type Model, POOLS } from './model.ts';
import { auditMark, createsAndDeletes } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { answerWith, delay } from './treatments.ts';

const NODES = '/api/v1/nodes';
const MANY = 600;

const testEnv = useFaultEnv({ own: true, apiserverFlags: ['--watch-cache=false'] });

const isReleased = ({ metadata }: LiveNode) => metadata.labels.tier === undefined;
const byPath = (requests: Asked[]) =>
  Object.fromEntries([...Map.groupBy(requests, ({ path }) => path)].map(([path, asked]) => [path, asked.length]));

row(
  {
    fault: '410 in the stream; HTTP 410',
    how: 'etcd is compacted while no watch is open, and objects of each kind are deleted',
    holds: 'exactly one relist of each resource; missed deletes are noticed',
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

/** Without WatchList; compacts etcd before the second page of the first list of nodes. Returns the requested pages. */
function compactInsideList(proxy: FaultProxy, model: Model): () => Asked[] {
  const first = proxy.requests.length;
  let compacted: Promise<string> | undefined;
  proxy.onRequest(asked => {
    if (isWatch(asked) && isList(asked)) return answerWith(422, 'sendInitialEvents is forbidden');
    if (asked.path !== NODES || !asked.query.has('continue') || compacted !== undefined) return undefined;
    // After a newer write, as the newest revision is not compacted.
    compacted = model.label('n0', { team: 'theirs' }).then(() => compact(testEnv.cluster().etcdUrl));
    return delay(compacted);
  });
  return () => proxy.requests.slice(first).filter(asked => asked.path === NODES && isList(asked) && !isWatch(asked));
}

for (const how of ['reconcile --watch', 'reconcile']) {
  row(
    {
      fault: '410 in the stream; HTTP 410',
      how: `etcd is compacted between two pages of a list, ${how}`,
      holds: 'the list restarts once and is complete',
    },
    async (t, facts) => {
      const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
      const labels = { 'node-role.kubernetes.io/many': '' };
      await model.addNodes(...Array.from({ length: MANY }, (_, at) => ({ name: `n${at}`, labels })));
      await model.createPool('many', { labels: { tier: 'many' } });
      const pages = compactInsideList(proxy, model);
      if (how === 'reconcile') {
        const { code, stderr } = await cli({ ...testEnv.cluster(), kubeconfig: proxy.kubeconfig }, ['reconcile']);
        assert.deepEqual([code, stderr], [0, '']);
      } else {
        const child = startChild(t, proxy);
        await child.synced();
        assert.deepEqual(child.lines(/next attempt/), [], 'no attempt of the list has failed');
      }
      await converged(model, proxy, 60_000);
      assert.deepEqual(
        pages().map(({ query, status }) => [query.has('continue'), status]),
        [
          [false, 200],
          [true, 410],
          [false, 200],
          [true, 200],
        ],
      );
      facts.nodes = MANY;
    },
  );
}
