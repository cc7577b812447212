/**
 * Two API servers on one etcd; the second one is cut off from etcd for one resource and serves stale objects from its
 * cache. Other resources are current, so a client can write conclusions from stale data.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { linkToEtcd } from '../cluster/frozen-etcd.ts';
import { rawClient } from '../cluster/raw.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { isList, isWatch } from './asked.ts';
import { type Child, converged, startChild, type Test, useFaultEnv } from './fault-env.ts';
import { type Model, POOLS } from './model.ts';
import { assertNeverBack, auditMark, writes } from './oracle.ts';
import type { FaultProxy, Upstream } from './proxy.ts';
import { row } from './row.ts';
import { watched } from './runs.ts';
import { answerWith } from './treatments.ts';

const NODES = '/api/v1/nodes';
/** Time in which a wrong write would happen; the product writes within a second. */
const TEMPTATION_MS = 3_000;

const testEnv = useFaultEnv({ own: true });

/** The second API server, which has the state of the model. Freezing the link freezes its cache of `what`. */
async function startSecond(t: Test, what: 'pools' | 'nodes', model: Model) {
  const { etcdUrl, startAnother, ca, admin } = testEnv.cluster();
  const link = await linkToEtcd(etcdUrl);
  t.after(() => link.close());
  const server =
    what === 'nodes'
      ? await startAnother(etcdUrl, [`--etcd-servers-overrides=/nodes#${link.url}`])
      : await startAnother(link.url, [`--etcd-servers-overrides=/nodes#${etcdUrl}`]);
  const client = rawClient(server, ca, admin);
  const path = what === 'nodes' ? NODES : POOLS;
  /** The names that its cache has, in order. */
  const cached = async () => {
    const { status, body } = await client.request('GET', `${path}?resourceVersion=0`);
    const { items = [] } = body as { items?: { metadata: { name: string } }[] };
    return status === 200 ? items.map(({ metadata }) => metadata.name).sort() : undefined;
  };
  const known = [...model[what].keys()].sort();
  await eventually(`the second server knows the ${what}`, async () => isDeepStrictEqual(await cached(), known));
  return { link, cached, known, upstream: { server, ca, admin } };
}

/**
 * Starts a process whose caches begin on that server, and waits so long that a wrong write would have happened.
 * Its first request goes to the first server: `--watch` lists the pools once before it starts its caches.
 */
async function startThere(t: Test, proxy: FaultProxy, upstream: Upstream): Promise<Child> {
  const asked = proxy.requests.length;
  const end = proxy.onAnswered(() => {
    end();
    proxy.switchTo(upstream);
  });
  const child = startChild(t, proxy);
  await eventually('its caches ask', () => proxy.requests.slice(asked).filter(isWatch).length >= 3);
  await sleep(TEMPTATION_MS);
  return child;
}

row(
  {
    fault: 'stale reads',
    slow: true,
    how: 'the controller is moved to an API server with stale pools, and gets a 410',
    holds: 'known pools are kept; no node is released; drift is repaired by the newest spec',
  },
  async (t, facts) => {
    const { proxy, model, child } = await watched(testEnv, t);
    const { link, cached, known, upstream } = await startSecond(t, 'pools', model);
    link.freeze();
    await model.createPool('new', { labels: { tier: 'new' } });
    await model.editPool('two', { labels: { tier: 'second' } });
    await model.deletePool('gone');
    await converged(model, proxy);
    assert.deepEqual(await cached(), known);

    const mark = await auditMark(testEnv.cluster());
    const isPools = ({ path }: { path: string }) => path === POOLS;
    const asked = proxy.requests.length;
    const undo = proxy.onRequest(request => {
      if (!isPools(request) || !isWatch(request)) return undefined;
      undo();
      return answerWith(410, 'too old resource version');
    });
    proxy.switchTo(upstream);
    proxy.cut();
    await eventually('it relists the pools', () =>
      proxy.requests.slice(asked).some(request => isPools(request) && isList(request)),
    );
    await model.drift('later', { tier: 'drifted' });
    await model.drift('drifts', { tier: 'drifted' });
    await sleep(TEMPTATION_MS);
    assert.deepEqual(await cached(), known, 'it serves the past all the time');
    await converged(model, proxy);
    assert.deepEqual(await writes(testEnv.cluster(), mark), { 'patch nodes drifts': 1, 'patch nodes later': 1 });

    link.thaw();
    await model.editPool('one', { labels: { tier: 'first' } });
    await converged(model, proxy, 60_000);
    assertNeverBack(proxy.requests);
    facts.lists = proxy.requests.slice(asked).filter(isList).length;
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: 'stale reads',
    how: 'a process starts on an API server with stale pools',
    holds: 'nothing is written until the server has caught up',
  },
  async (t, facts) => {
    const { proxy, model, child: before } = await watched(testEnv, t);
    const { link, cached, known, upstream } = await startSecond(t, 'pools', model);
    link.freeze();
    // On the second server this pool does not exist: its nodes have the record of a deleted pool.
    await model.createPool('new', { labels: { tier: 'new' } });
    await converged(model, proxy);
    assert.equal(await before.end(), 0);

    const mark = await auditMark(testEnv.cluster());
    const child = await startThere(t, proxy, upstream);
    assert.deepEqual(await cached(), known, 'it serves the past all the time');
    assert.deepEqual(await writes(testEnv.cluster(), mark), {});
    const thawed = performance.now();
    link.thaw();
    await child.synced(60_000);
    await converged(model, proxy);
    facts.secondsToSync = Math.round((performance.now() - thawed) / 1000);
    assert.deepEqual(await writes(testEnv.cluster(), mark), {});
  },
);

row(
  {
    fault: 'stale reads',
    slow: true,
    how: 'a pool is deleted; a process starts on an API server with stale nodes',
    holds: 'the pool is not removed before its newest node is released',
  },
  async t => {
    const also = (model: Model) => model.createPool('empty', { labels: { tier: 'empty' }, handler: 'runc' });
    const { proxy, model, child: before } = await watched(testEnv, t, { also });
    const { link, cached, known, upstream } = await startSecond(t, 'nodes', model);
    link.freeze();
    // On the second server the pool has no node: nothing would be left to release.
    await model.addNodes({ name: 'unheard', labels: role('empty') });
    await converged(model, proxy);
    assert.equal(await before.end(), 0);
    await model.deletePool('empty');

    const mark = await auditMark(testEnv.cluster());
    const child = await startThere(t, proxy, upstream);
    assert.deepEqual(await cached(), known, 'it serves the past all the time');
    assert.deepEqual(await writes(testEnv.cluster(), mark), {});
    assert.ok(await testEnv.getPool('empty'));
    link.thaw();
    await child.synced(60_000);
    await converged(model, proxy);
    assert.equal((await testEnv.node('unheard')).metadata.labels.tier, undefined);
  },
);
