/** manifests/born-in-pool.yaml never keeps a node from registering, and agrees with reconcile on the owner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoolIndex } from '../../src/nodepool/membership/membership.ts';
import { MAX_RECORD_LENGTH, recordProblem } from '../../src/nodepool/plan/record.ts';
import { BORN_ANNOTATION, type NodePool, type NodePoolSpec } from '../../src/nodepool/types.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply, inForce, markOf, POLICY } from './birth.ts';
import { TAINT } from './kubelet.ts';
import { type LiveNode, taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const { cluster } = testEnv;
const api = () => raw(cluster());

/** As the node would be stored. */
const dryRun = async (labels: Record<string, string>, name = 'n') =>
  (await api().expect('POST', '/api/v1/nodes?dryRun=All', nodeObject({ name, labels }))) as LiveNode;

const long = (prefix: string, at: number) => `${prefix}${at}.${'a.'.repeat(120)}x/${'b'.repeat(63)}`.slice(-317);

const longTaints = (prefix: string) =>
  Array.from({ length: 100 }, (_, at) => ({
    key: long(prefix, at),
    value: 'v'.repeat(63),
    effect: 'NoSchedule' as const,
  }));

test('sets everything of the largest pool, and annotations that still fit', { skip }, async () => {
  await apply(cluster(), POLICY);
  const spec: NodePoolSpec = {
    nodeSelector: { group: 'big' },
    labels: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [long('l', at), 'v'.repeat(63)])),
    taints: longTaints('t'),
    // Quotes and backslashes are the worst for the birth record.
    annotations: Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`big-${at}`, '"\\'.repeat(250)])),
  };
  await testEnv.pool('big', spec);
  await inForce(testEnv, 'big', { group: 'big' });
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`example.com/${at}`, 'x']));
  await testEnv.nodes(
    { name: 'a', labels: { group: 'big' } },
    { name: 'b', labels: { group: 'big', ...many } },
    ...[100, 150, 200, 250].map(size => ({
      name: `c${size}`,
      labels: { group: 'big' },
      annotations: { large: 'ü'.repeat(size * 512) },
    })),
  );
  for (const name of ['a', 'b', 'c100', 'c150', 'c200', 'c250']) {
    const node = await testEnv.node(name);
    const given = Object.keys(spec.annotations ?? {}).filter(key => key in (node.metadata.annotations ?? {}));
    const isWhole = name === 'a' || name === 'b';
    if (name === 'c200' || name === 'c250') {
      // Not even the birth record fits.
      assert.deepEqual([taintsOf(node), given, markOf(node)], [[], [], undefined]);
      continue;
    }
    assert.ok(
      Object.keys(spec.labels ?? {}).every(key => node.metadata.labels[key] === 'v'.repeat(63)),
      name,
    );
    assert.equal(taintsOf(node).length, 100);
    assert.equal(given.length, isWhole ? 64 : 0, name);
  }
  // There, reconcile has no room for the annotations and the record either.
  for (const name of ['c100', 'c150', 'c200', 'c250']) await api().expect('DELETE', `/api/v1/nodes/${name}`);
  await testEnv.reconcile();
  assert.equal((await testEnv.getPool('big'))?.status?.status, 200);
  await testEnv.delete(['big']);
  for (const name of ['a', 'b']) {
    const { metadata, spec: after } = await testEnv.node(name);
    assert.deepEqual([after.taints, Object.keys(metadata.labels).filter(key => key.includes('a.a.'))], [undefined, []]);
  }
});

test('sets the maximum of taints and startup taints with the longest keys', {
  skip,
}, async () => {
  await apply(cluster(), POLICY);
  const labels = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [long('l', at), 'v'.repeat(63)]));
  const spec = { nodeSelector: { group: 'tainted' }, labels, taints: longTaints('t'), startupTaints: longTaints('s') };
  await testEnv.pool('tainted', spec);
  await inForce(testEnv, 'tainted', { group: 'tainted' });
  assert.equal(taintsOf(await dryRun({ group: 'tainted' })).length, 200);
});

test('a birth record at the length limit has the annotations, and a longer one has none', {
  skip,
}, async () => {
  await apply(cluster(), POLICY);
  // In JSON, a quote takes two bytes: the birth record is longer than what it is about.
  const spec = (length: number): NodePoolSpec => ({
    nodeSelector: { group: 'edge' },
    labels: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [long('l', at), 'v'.repeat(63)])),
    annotations: { quotes: '"'.repeat(62_000), rest: 'x'.repeat(length) },
  });
  await testEnv.pool('edge', spec(1));
  await inForce(testEnv, 'edge', { group: 'edge' });
  const lengthOf = (node: LiveNode) => node.metadata.annotations?.[BORN_ANNOTATION]?.length ?? assert.fail();
  const room = MAX_RECORD_LENGTH - lengthOf(await dryRun({ group: 'edge' })) + 1;
  assert.ok(room > 1 && room < 5_000, `${room}`);
  for (const [length, isGiven] of [
    [room, true],
    [room + 1, false],
  ] as const) {
    await testEnv.edit('edge', { spec: spec(length) });
    const born = () => dryRun({ group: 'edge' });
    const rest = async () => (await born()).metadata.annotations?.rest?.length;
    await eventually('the pool is known', async () => (await rest()) === (isGiven ? length : undefined));
    const node = await born();
    if (isGiven) assert.equal(lengthOf(node), MAX_RECORD_LENGTH);
    assert.equal(node.metadata.annotations?.quotes?.length, isGiven ? 62_000 : undefined);
    assert.equal(recordProblem(node.metadata.annotations?.[BORN_ANNOTATION] ?? ''), undefined);
    assert.equal(markOf(node)?.labels[long('l', 0)], 'v'.repeat(63), 'all else is given');
  }
});

test('the oldest of 300 matching pools gets the node, and 300 other pools set nothing', {
  skip,
}, async () => {
  await apply(cluster(), POLICY);
  // Keys like those of the birth record itself, with a value that is before every time.
  const words = Object.fromEntries(['since', 'pool', 'labels', 'taints', 'startup'].map(key => [key, '0']));
  const spec = (group: string, at: number) => ({
    nodeSelector: { group },
    labels: { [`from-${at}`]: 'x', ...words },
    annotations: { ...words, [`note-${at}`]: '","since":"0","labels":{"group":"0"}' },
    taints: [{ key: `from-${at}`, effect: 'NoSchedule' as const }],
  });
  await testEnv.pool('p-oldest', spec('all', 0));
  for (let at = 1; at < 300; at++) await testEnv.pool(`p${at}`, spec('all', at), { younger: at === 1 });
  await inForce(testEnv, 'p-oldest', { group: 'all' });
  await eventually('all are known', async () => {
    const before = performance.now();
    await dryRun({ group: 'all' });
    return performance.now() - before > 0;
  });
  await testEnv.nodes({ name: 'a', labels: { group: 'all' } }, { name: 'b', labels: { group: 'none' } });
  const [a, b] = [await testEnv.node('a'), await testEnv.node('b')];
  assert.equal(markOf(a)?.pool, 'p-oldest');
  assert.deepEqual(
    Object.keys(a.metadata.labels).filter(key => key.startsWith('from')),
    ['from-0'],
  );
  assert.deepEqual(
    Object.keys(a.metadata.annotations ?? {}).filter(key => key.startsWith('note')),
    ['note-0'],
  );
  assert.deepEqual(taintsOf(a), ['from-0:NoSchedule']);
  assert.deepEqual([markOf(b), taintsOf(b)], [undefined, []]);
});

test('a pool that is being deleted sets nothing', { skip }, async () => {
  await apply(cluster(), POLICY);
  await testEnv.pool('probe', { nodeSelector: { probe: 'x' } });
  await testEnv.pool(
    'one',
    { nodeSelector: { group: 'one' }, taints: [TAINT] },
    { metadata: { finalizers: ['a.b/c'] } },
  );
  await inForce(testEnv, 'one', { group: 'one' });
  await api().expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/one');
  await eventually(
    'a pool that is deleted gives nothing',
    async () => markOf(await dryRun({ group: 'one' })) === undefined,
  );
});

test('pools with random selectors, some paused, set the same at birth as reconcile', {
  skip,
  timeout: 300_000,
}, async () => {
  await apply(cluster(), POLICY);
  let state = 7;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  const KEYS = ['a', 'b', 'example.com/c'];
  const VALUES = ['', '1', '5', '007', '9999999999999999999', 'x'];
  const expression = () => {
    const operator = pick(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']);
    const values =
      operator === 'In' || operator === 'NotIn'
        ? { values: [pick(VALUES), pick(VALUES)] }
        : operator === 'Gt' || operator === 'Lt'
          ? { values: [pick(['0', '4', '7', '0005'])] }
          : {};
    return { key: pick(KEYS), operator, ...values };
  };
  for (let round = 0; round < 6; round++) {
    await testEnv.clean();
    await testEnv.pool('first', { nodeSelector: { last: 'x' } });
    for (let at = 0; at < 8; at++) {
      const labels = random(2) === 0 ? { nodeSelector: { [pick(KEYS)]: pick(VALUES) } } : {};
      const expressions = random(3) > 0 ? { matchExpressions: Array.from({ length: 1 + random(2) }, expression) } : {};
      const used = [
        ...Object.keys(labels.nodeSelector ?? {}),
        ...(expressions.matchExpressions ?? []).map(({ key }) => key),
      ];
      // Some give labels by which others select.
      const free = KEYS.filter(key => !used.includes(key));
      const given = random(3) === 0 && free.length > 0 ? { labels: { [pick(free)]: pick(VALUES) } } : {};
      const paused = random(4) === 0 ? { paused: true } : {};
      const spec = { ...labels, ...expressions, ...given, ...paused };
      await testEnv.pool(`p${at}`, spec, { younger: at === 0 || at === 4 });
    }
    // The server knows the others once it knows this.
    await testEnv.edit('first', { spec: { labels: { round: `${round}` } } });
    await eventually('the pools are known', async () => {
      return markOf(await dryRun({ last: 'x' }))?.labels.round === `${round}`;
    });
    const { items } = (await api().expect('GET', '/apis/nodes.lailin.xyz/v1/nodepools')) as { items: NodePool[] };
    const index = new PoolIndex(items);
    for (let at = 0; at < 60; at++) {
      const labels = Object.fromEntries(KEYS.filter(() => random(3) > 0).map(key => [key, pick(VALUES)]));
      const node = await dryRun(labels, `n${at}`);
      const { owner } = index.ownership({
        name: 'n',
        uid: '',
        resourceVersion: '',
        creationTimestamp: '',
        labels,
        taints: [],
        ready: true,
        unschedulable: false,
        allocatable: {},
      });
      const isWaiting = items.some(({ metadata, spec }) => metadata.name === owner && spec.paused);
      const message = `${JSON.stringify(labels)} of ${JSON.stringify(items.map(p => p.spec))}`;
      assert.equal(markOf(node)?.pool, isWaiting ? undefined : owner, message);
      const kept = Object.fromEntries(Object.entries(node.metadata.labels).filter(([key]) => KEYS.includes(key)));
      if (isWaiting) assert.deepEqual([kept, taintsOf(node)], [labels, []], message);
    }
  }
});
