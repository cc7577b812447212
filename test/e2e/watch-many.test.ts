/** `reconcile --watch` at scale: pools that change at once, nodes of a pool, large records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { startChild } from '../fault/child.ts';
import { type LiveEvent, role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const POOLS = Array.from({ length: 100 }, (_, at) => `p${String(at).padStart(2, '0')}`);
const BIG = 300;

test('records an event for each of 100 changed pools, and one for 300 nodes', {
  timeout: 240_000,
}, async t => {
  await testEnv.nodes(
    ...POOLS.flatMap(pool => ['a', 'b', 'c'].map(at => ({ name: `${pool}-${at}`, labels: role(pool) }))),
    ...Array.from({ length: BIG }, (_, at) => ({ name: `big-${String(at).padStart(4, '0')}`, labels: role('big') })),
  );
  const names = [...POOLS, 'big'];
  for (const name of names) await testEnv.pool(name, { labels: { tier: 'silver' } });
  const child = startChild(t, testEnv.cluster(), '-v', '9');
  await child.synced(100_000);
  const isDone = (note: RegExp, reason: string) => async () => {
    const path = '/apis/events.k8s.io/v1/namespaces/default/events';
    const { items } = (await raw(testEnv.cluster()).expect('GET', path)) as { items: LiveEvent[] };
    const pools = items.filter(event => event.reason === reason && note.test(event.note)).map(e => e.regarding.name);
    return names.every(name => pools.includes(name));
  };
  await eventually('each pool has its first event', isDone(/joined/, 'NodeJoined'), 100_000);
  await Promise.all(names.map(name => testEnv.edit(name, { spec: { labels: { tier: 'gold' } } })));
  await eventually('each pool has its event', isDone(/to "gold"/, 'NodesUpdated'), 100_000);
  assert.deepEqual(child.lines(/dropped/), []);
  assert.deepEqual(
    (await testEnv.events('p07')).map(({ note }) => note).filter(note => note.includes('gold')),
    ['3 nodes updated (label tier changed from "silver" to "gold" (spec)): p07-a, p07-b, p07-c'],
  );
  const big = (await testEnv.events('big')).map(({ note }) => note);
  assert.equal(big.length, 2, big.join('\n'));
  for (const note of big) {
    assert.match(
      note,
      /^300 nodes (joined|updated \(label tier changed .*\)): big-0000, big-0001, .*, and 2\d\d more$/,
    );
    assert.ok(Buffer.byteLength(note) <= 1024);
  }

  // Each takes a node of one pool, which gets an event too.
  const taken = POOLS.map((pool, at) => [pool, `big-${String(at).padStart(4, '0')}`] as const);
  const labels = (pool: string) => ({ 'node-role.kubernetes.io/big': null, ...role(pool) });
  await Promise.all(taken.map(([pool, node]) => testEnv.patchNode(node, { metadata: { labels: labels(pool) } })));
  const left = () => {
    const counts = child.lines(/NodeLeft of NodePool big: /).map(line => Number(/(\d+) nodes? left/.exec(line)?.[1]));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  await eventually('all leaves are reported', () => left() === POOLS.length, 100_000);
  assert.deepEqual(child.lines(/dropped/), []);
  assert.equal(await child.end(), 0);
});

test('400 nodes with records of 175 KB use little memory, and get an event each', {
  timeout: 240_000,
}, async t => {
  const labels = Array.from({ length: 7_800 }, (_, at) => `"label-${at}":"value-${at % 9}"`).join(',');
  const nodes = Array.from({ length: 400 }, (_, at) => `fat-${String(at).padStart(3, '0')}`);
  for (const [at, name] of nodes.entries()) {
    const { metadata, ...rest } = nodeObject({ name, labels: role('worker') }) as { metadata: object };
    const annotations = { [RECORD_ANNOTATION]: `{"pool":"worker","labels":{${labels},"x":"${at}"}}` };
    assert.ok(annotations[RECORD_ANNOTATION].length > 165_000);
    await raw(testEnv.cluster()).expect('POST', '/api/v1/nodes', { ...rest, metadata: { ...metadata, annotations } });
  }
  const child = startChild(t, testEnv.cluster());
  await child.synced(100_000);
  const { rss, peak } = await child.memory();
  t.diagnostic(`synced: rss=${Math.round(rss)} peak=${Math.round(peak)}`);
  await testEnv.pool('worker', { labels: { tier: 'gold' } });
  await eventually(
    'the pool is reconciled',
    async () => (await testEnv.getPool('worker'))?.status?.status === 200,
    100_000,
  );
  const after = await child.memory();
  t.diagnostic(`settled: rss=${Math.round(after.rss)} peak=${Math.round(after.peak)}`);
  assert.ok(after.peak < 300, `${Math.round(after.peak)} MB`);
  assert.equal(
    (await testEnv.node('fat-399')).metadata.annotations?.[RECORD_ANNOTATION],
    '{"pool":"worker","generation":1,"labels":{"tier":"gold"}}',
  );
  await eventually('it is reported', async () =>
    (await testEnv.events('worker')).some(e => e.reason === 'RecordInvalid'),
  );
  const [event] = (await testEnv.events('worker')).filter(({ reason }) => reason === 'RecordInvalid');
  assert.equal(event?.type, 'Warning');
  assert.match(
    event?.note ?? '',
    /^the annotation nodes\.lailin\.xyz\/applied of 400 nodes was not a valid record \(larger than 163840 characters\) and was replaced; .*: fat-000, .* more$/,
  );
  assert.equal(await child.end(), 0);
});
