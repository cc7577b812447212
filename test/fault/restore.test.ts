/** etcd is restored from a backup, as its documentation says: all API servers are stopped meanwhile. */
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { productCommand } from '../cluster/product.ts';
import { start } from '../e2e/following.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import type { Asked } from './asked.ts';
import { converged, startChild, useFaultEnv } from './fault-env.ts';
import { Model } from './model.ts';
import { auditMark, writes } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { row } from './row.ts';

const FAULT = 'etcd restored from a backup';
const RESTORED = /etcd was restored from a backup/;
/** A shorter stop may be a busy machine (src/controller/resync.ts), and restoring etcd takes longer. */
const NOTICED_MS = 8_000;
const testEnv = useFaultEnv({ own: true });

/** Backs up etcd; returns a function that restores it and returns the model of then. */
async function backUp(model: Model): Promise<() => Promise<Model>> {
  const folder = join(testEnv.cluster().dir, 'backup');
  const copyOf = new Model(testEnv.cluster);
  for (const [name, foreign] of model.nodes) copyOf.nodes.set(name, structuredClone(foreign));
  for (const [name, spec] of model.pools) copyOf.pools.set(name, structuredClone(spec));
  await testEnv.cluster().offline(async etcd => {
    await rm(folder, { recursive: true, force: true });
    await cp(etcd, folder, { recursive: true });
  });
  return async () => {
    await testEnv.cluster().offline(async etcd => {
      await rm(etcd, { recursive: true });
      await cp(folder, etcd, { recursive: true });
    });
    return copyOf;
  };
}

async function prepare(model: Model): Promise<void> {
  await model.addNodes(
    { name: 'drifts', labels: role('one') },
    { name: 'stays', labels: role('one') },
    { name: 'joins' },
    { name: 'comes-back', labels: role('gone') },
  );
  await model.createPool('one', { labels: { tier: 'one' }, handler: 'runc' });
  await model.createPool('gone', { labels: { tier: 'gone' } });
}

/** Changes that the restore undoes. */
async function loseFuture(model: Model): Promise<void> {
  await model.editPool('one', { labels: { tier: 'lost' }, handler: 'kata' });
  await model.createPool('late', { labels: { tier: 'late' } });
  await model.label('joins', role('late'));
  await model.removeNode('comes-back');
  await model.deletePool('gone');
}

/** Checks that drift and an edit after the restore are reconciled, and nothing else is written. */
async function goesOn(model: Model, proxy: FaultProxy): Promise<void> {
  const mark = await auditMark(testEnv.cluster());
  await model.drift('drifts', { tier: 'drifted' });
  await converged(model, proxy);
  assert.deepEqual(await writes(testEnv.cluster(), mark), { 'patch nodes drifts': 1 });
  await model.editPool('gone', { labels: { tier: 'edited' } });
  await converged(model, proxy);
}

row(
  {
    fault: FAULT,
    how: 'the server is far behind the resourceVersion that was seen',
    holds: 'the restore is noticed; everything is listed again; nothing is written for lost changes',
  },
  async (t, facts) => {
    const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
    await prepare(model);
    const child = startChild(t, proxy);
    const follower = start(t, proxy, [...productCommand(), 'get', '--watch']);
    await child.synced();
    await converged(model, proxy);
    const restore = await backUp(model);
    await converged(model, proxy);
    await loseFuture(model);
    for (let change = 0; change < 400; change++) await model.heartbeat('stays');
    await converged(model, proxy);
    await eventually('it shows the new pool', () => follower.stdout().includes('late'));
    assert.deepEqual(child.lines(RESTORED), [], 'an API server and an etcd that restart are not restored');

    const mark = await auditMark(testEnv.cluster());
    const before = await restore();
    const back = performance.now();
    const noticed = /clearing the caches/;
    await eventually('it notices', () => child.lines(noticed).length > 0, 60_000);
    facts.noticedAfterSeconds = Math.round((performance.now() - back) / 1000);
    await converged(before, proxy);
    assert.deepEqual(await writes(testEnv.cluster(), mark), {}, 'nothing is to be done');
    await goesOn(before, proxy);
    assert.equal(child.lines(noticed).length, 1);
    await eventually('get --watch shows the pool that was deleted', () => {
      const shown = follower.lines().findLast(line => line.startsWith('gone '));
      return follower.lines().filter(line => line.startsWith('gone ')).length > 1 && shown;
    });
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: FAULT,
    how: 'to a time before an edit, while that edit is reconciled',
    holds: 'the reconcile ends, and everything is listed again',
  },
  async (t, facts) => {
    const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
    await model.addNodes({ name: 'a', labels: role('one') });
    await model.createPool('one', { labels: { tier: 'one' }, rollout: { maxConcurrent: 1, settleSeconds: 0 } });
    const child = startChild(t, proxy);
    await child.synced();
    await converged(model, proxy);
    const restore = await backUp(model);
    await converged(model, proxy);
    const isHistory = ({ method, path }: Asked) => method === 'POST' && path.endsWith('/controllerrevisions');
    const opened = Promise.withResolvers<void>();
    let held = 0;
    const unhold = proxy.onRequest(request =>
      isHistory(request)
        ? async ({ forward, pass }) => {
            held++;
            await opened.promise;
            pass(await forward());
          }
        : undefined,
    );
    await model.editPool('one', { labels: { tier: 'lost' }, rollout: { maxConcurrent: 1, settleSeconds: 0 } });
    await eventually('it keeps the spec', () => held > 0);
    const before = await restore();
    await eventually(
      'the server answers',
      async () => (await testEnv.getPool('one').catch(() => undefined)) !== undefined,
    );
    const begun = proxy.requests.length;
    unhold();
    opened.resolve();
    await eventually('it notices', () => child.lines(/clearing the caches/).length > 0, 60_000);
    facts.historyWrites = proxy.requests.slice(begun).filter(isHistory).length;
    assert.ok(facts.historyWrites < 30, `it writes the history ${facts.historyWrites} times`);
    await converged(before, proxy);
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: FAULT,
    how: 'while the process is suspended (SIGSTOP)',
    holds: 'the restore is noticed when the process continues',
  },
  async t => {
    const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
    await prepare(model);
    const child = startChild(t, proxy);
    await child.synced();
    await converged(model, proxy);
    const restore = await backUp(model);
    await converged(model, proxy);
    await loseFuture(model);
    await converged(model, proxy);

    child.signal('SIGSTOP');
    const stoppedAt = performance.now();
    const before = await restore();
    for (let change = 0; change < 300; change++) await before.label('stays', { change: String(change) });
    await before.drift('drifts', { tier: 'drifted' });
    await sleep(Math.max(0, stoppedAt + NOTICED_MS - performance.now()));
    const mark = await auditMark(testEnv.cluster());
    child.signal('SIGCONT');
    await eventually('it notices', () => child.lines(/clearing the caches/).length > 0, 60_000);
    await converged(before, proxy);
    assert.deepEqual(await writes(testEnv.cluster(), mark), { 'patch nodes drifts': 1 });
    assert.equal(await child.end(), 0);
  },
);
