/** spec.paused on a real API server: no command writes a node of a paused pool, and differences are counted and shown. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { condition, role, statuses, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { ok, refused, unchanged } = commandsOf(testEnv.cluster);
const RESUME = 'resume the pool with `kubectl nodepool rollout resume web`';
const pause = (paused: boolean | null) => testEnv.edit('web', { spec: { paused } });

/** Versions of all nodes: equal where none was written. */
const versions = async () =>
  Promise.all(['a', 'b', 'c'].map(async name => (await testEnv.node(name)).metadata.resourceVersion));

beforeEach(async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') }, { name: 'c' });
  await testEnv.pool('web', { labels: { tier: 'gold' }, taints: [{ key: 'web', effect: 'NoSchedule' }] });
  await testEnv.reconcile();
});

test('joins, leaves, drift and a new spec wait and are reported until the resume', async () => {
  await pause(true);
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drifted' } } });
  await testEnv.patchNode('b', { metadata: { labels: { 'node-role.kubernetes.io/web': null } } });
  await testEnv.patchNode('c', { metadata: { labels: role('web') } });
  await testEnv.edit('web', { spec: { labels: { team: 'x' } } });
  const before = await versions();
  assert.deepEqual(statuses(await testEnv.reconcile()), { web: 200 });
  assert.deepEqual(await versions(), before);

  const pool = await testEnv.getPool('web');
  assert.deepEqual([pool?.status?.nodeCount, pool?.status?.updatedNodeCount], [2, 0]);
  assert.equal(pool?.status?.observedGeneration, pool?.metadata.generation);
  const { status, reason, message } = condition(pool, 'Progressing');
  assert.deepEqual([status, reason], ['False', 'Paused']);
  assert.equal(
    message,
    'the pool is paused and 2 of 2 nodes wait for its changes: no node is written until `kubectl nodepool rollout resume web`',
  );
  assert.deepEqual([condition(pool, 'Applied').status, condition(pool, 'Applied').reason], ['False', 'Paused']);
  assert.deepEqual([condition(pool, 'Ready').status, condition(pool, 'Reconciling').status], ['True', 'True']);
  const events = (await testEnv.events('web')).map(event => `${event.type} ${event.reason}`);
  assert.ok(events.includes('Normal Paused'));
  assert.ok(!events.some(event => event.startsWith('Warning')), String(events));

  const diff = await unchanged(['diff']);
  assert.equal(diff.code, 1);
  assert.match(
    diff.stdout,
    /^node a \(pool web; pool web is paused\)\n {2}\+ label team=x .*\n {2}~ label tier: drifted -> gold/m,
  );
  assert.match(diff.stdout, /^node b \(leaves pool web; pool web is paused\)$/m);
  assert.match(diff.stdout, /^node c \(joins pool web; pool web is paused\)$/m);
  assert.match(
    diff.stdout,
    /^! pool web is paused: 3 nodes above are not written until `kubectl nodepool rollout resume web`$/m,
  );
  assert.match(diff.stdout, /^3 nodes would change later$/m);
  const line = await ok(['reconcile']);
  assert.match(
    line,
    /^web {2}Paused {2}2 nodes \(unchanged\) .* the pool is paused and 2 of 2 nodes wait for its changes: /,
  );
  assert.match(await ok(['reconcile', '-o', 'json']), /"reason": "Paused"/);
  assert.deepEqual(await versions(), before);

  await pause(null);
  await testEnv.reconcile();
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(name => testEnv.node(name)));
  assert.deepEqual([a?.metadata.labels.tier, a?.metadata.labels.team], ['gold', 'x']);
  assert.deepEqual([b?.metadata.labels.tier, b && taintsOf(b)], [undefined, []]);
  assert.deepEqual([c?.metadata.labels.tier, c && taintsOf(c)], ['gold', ['web:NoSchedule']]);
  const after = await testEnv.getPool('web');
  assert.deepEqual(
    after?.status?.conditions?.map(({ type }) => type),
    ['Ready', 'Applied', 'Conflict'],
  );
});

test('add, remove and move refuse, and suggest resume; the RuntimeClass stays current', async () => {
  await testEnv.pool('other', { nodeSelector: { other: '' }, labels: { tier: 'other' } });
  await testEnv.patchNode('c', { metadata: { labels: { other: '' } } });
  await testEnv.reconcile();
  await testEnv.edit('web', { spec: { paused: true, handler: 'runc' } });
  const error = (what: string) => `error: ${what}: pool web is paused; next: ${RESUME}`;
  await refused(['add', 'web', 'c'], 1, error('no node is added'));
  await refused(['remove', 'web', 'a'], 1, error('no node is removed'));
  await refused(['move', 'c', '--to', 'web'], 1, error('no node is added'));
  await refused(['move', 'a', '--to', 'other'], 1, error('node a is not changed'));
  await refused(['create', 'new', '--nodes', 'a'], 1, /^error: --nodes: node a (belongs to pool web|is not changed)/);
  const before = await versions();
  await testEnv.reconcile();
  assert.deepEqual(await versions(), before);
  assert.equal((await testEnv.runtimeClass('web'))?.handler, 'runc');
});

test('another pool gets a node of the paused pool only after the resume', async () => {
  await testEnv.pool('other', { nodeSelector: { other: '' }, labels: { tier: 'other' } }, { younger: true });
  await pause(true);
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/web': null, other: '' } } });
  const before = await versions();
  await testEnv.reconcile();
  assert.deepEqual(await versions(), before);
  await pause(false);
  await testEnv.reconcile();
  const { labels } = (await testEnv.node('a')).metadata;
  assert.deepEqual([labels.tier, taintsOf(await testEnv.node('a'))], ['other', []]);
});

test('releases the nodes of a paused pool that is deleted, also in the watch', async t => {
  await pause(true);
  await testEnv.delete(['web']);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, undefined);
  await testEnv.pool('web', { labels: { tier: 'gold' }, paused: true });
  const watching = await startWatching(t, testEnv.cluster());
  await eventually('it is counted', async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === 0);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, undefined);
  await pause(false);
  await eventually('they join', async () => (await testEnv.node('b')).metadata.labels.tier === 'gold');
  await pause(true);
  await eventually('it is paused', async () => {
    const pool = await testEnv.getPool('web');
    return pool?.status?.conditions?.some(({ reason }) => reason === 'Paused');
  });
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drifted' } } });
  await eventually('drift is counted', async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === 1);
  await sleep(500);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'drifted');
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/web');
  await eventually('it is released', async () => (await testEnv.getPool('web')) === undefined);
  assert.equal((await testEnv.node('b')).metadata.labels.tier, undefined);
  assert.equal(await watching.end(), 0);
});

test('pausing a pool during a run completes only the writes in progress', async t => {
  const names = Array.from({ length: 60 }, (_, at) => `n${String(at).padStart(2, '0')}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  const patched = async (since: number) =>
    (await readAudit(testEnv.cluster()))
      .slice(since)
      .filter(({ resource, verb, name }) => resource === 'nodes' && verb === 'patch' && names.includes(name ?? ''))
      .length;
  const { cluster } = await testEnv.connection();
  for (const path of ['one-shot', 'watch'] as const) {
    await pause(false);
    const mark = (await readAudit(testEnv.cluster())).length;
    await testEnv.edit('web', { spec: { labels: { tier: path } } });
    if (path === 'one-shot') {
      let writes = 0;
      await testEnv.reconcileWith({
        ...cluster,
        nodes: {
          ...cluster.nodes,
          async patch(name, patch, options) {
            if (++writes === 10) await pause(true);
            if (writes >= 10) await sleep(1_100);
            return cluster.nodes.patch(name, patch, options);
          },
        },
      });
      // At most nine, plus the eight that were in flight, within the second.
      assert.ok(writes <= 9 + 2 * 8, `${writes} writes`);
    } else {
      const watching = await startWatching(t, testEnv.cluster(), '--concurrency', '1');
      await eventually('it writes', async () => (await patched(mark)) > 3);
      await pause(true);
      await eventually('it says so', async () => {
        const pool = await testEnv.getPool('web');
        return pool?.status?.conditions?.some(({ reason }) => reason === 'Paused');
      });
      const count = await patched(mark);
      await sleep(500);
      assert.equal(await patched(mark), count);
      await watching.end();
    }
  }
});

test('no command or watch writes a node of a paused pool, but drift is reported', async t => {
  const names = Array.from({ length: 100 }, (_, at) => `m${String(at).padStart(3, '0')}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  await testEnv.reconcile();
  await pause(true);
  const off = { metadata: { labels: { 'node-role.kubernetes.io/web': null } } };
  for (const name of names.slice(0, 20)) await testEnv.patchNode(name, { metadata: { labels: { tier: 'drifted' } } });
  for (const name of names.slice(20, 30)) await testEnv.patchNode(name, off);
  await testEnv.nodes({ name: 'joins', labels: role('web') });
  const all = async () => {
    const { items } = (await raw(testEnv.cluster()).expect('GET', '/api/v1/nodes')) as {
      items: { metadata: { name: string; resourceVersion: string } }[];
    };
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  };
  const [before, mark] = [await all(), (await readAudit(testEnv.cluster())).length];
  const says = async (text: string) => {
    const { message } = condition(await testEnv.getPool('web'), 'Progressing');
    assert.ok(message.startsWith(`the pool is paused and ${text} `), message);
  };
  // Two nodes exist in every test; ten have left by their labels.
  await testEnv.reconcile();
  await says('21 of 93 nodes wait');
  const watching = await startWatching(t, testEnv.cluster(), '--resync', '1s');
  await testEnv.edit('web', { spec: { labels: { tier: 'silver' } } });
  await eventually(
    'the new spec is counted',
    async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === 0,
  );
  await sleep(3_000);
  await says('93 of 93 nodes wait');
  await watching.end();
  assert.match(await ok(['reconcile']), /^web {2}Paused {2}93 nodes \(unchanged\) .* 93 of 93 nodes wait /);
  assert.deepEqual(await all(), before);
  const written = (await readAudit(testEnv.cluster()))
    .slice(mark)
    .filter(event => isWrite(event) && event.resource.startsWith('nodes') && event.userAgent.includes('nodepool'));
  assert.deepEqual(written, []);
});
