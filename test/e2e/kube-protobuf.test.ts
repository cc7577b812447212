/** Nodes and pods in both encodings of a real kube-apiserver are decoded to the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/controller/clock.ts';
import { Reflector } from '../../src/controller/reflector.ts';
import { Store } from '../../src/controller/store.ts';
import { NODES } from '../../src/kube/api/resource.ts';
import { listWatch } from '../../src/kube/api/watch.ts';
import { type Connection, connect } from '../../src/kube/connect.ts';
import { KeptAnnotations } from '../../src/kube/resources/kept-annotations.ts';
import { toNode, type WireNode } from '../../src/kube/resources/nodes.ts';
import { toPlace } from '../../src/kube/resources/pods.ts';
import type { NodepoolError } from '../../src/nodepool/errors.ts';
import type { Node } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { openTransport, until } from './admin-transport.ts';
import { PROTOBUF, useProtobufNodes } from './protobuf-nodes.ts';
import { relay } from './relay.ts';

/** Of all nodes: 500, 104. */
const PAGES = 2;

/** The value of a taint whose field number the relay changes. */
const MARK = 'value-in-a-field-of-the-future';

const limitOf = (path: string) => /limit=(\d+)/.exec(path)?.[1];

const { cluster, open, inJson } = useProtobufNodes(createSampleNodes);

async function createSampleNodes(cluster: ControlPlane): Promise<void> {
  await createNodes(cluster, [
    { name: 'plain' },
    { name: 'bare', ready: false, unschedulable: true, allocatable: { 'example.com/gpu': '3', memory: '1.5Gi' } },
    {
      name: 'tainted',
      labels: { 'a.example.com/empty': '', 'b-c.d_e': 'V.1' },
      taints: [
        { key: 'no-value', effect: 'NoSchedule' },
        { key: 'example.com/k', value: 'v', effect: 'PreferNoSchedule' },
      ],
    },
    ...Array.from({ length: 600 }, (_, index) => ({ name: `many-${index}` })),
  ]);
  const client = raw(cluster);
  const annotations = { 'nodes.lailin.xyz/applied': '{"pool":"ünïcode"}', other: 'x'.repeat(2_000) };
  await client.expect('PATCH', '/api/v1/nodes/plain', { metadata: { annotations } });
  const timed = { key: 'late', effect: 'NoExecute', timeAdded: '2026-02-28T23:59:59Z' };
  await client.expect('PATCH', '/api/v1/nodes/tainted', { spec: { taints: [timed] } });
  await client.expect('POST', '/api/v1/nodes', { metadata: { name: 'without-status' } });
}

test('lists of several pages and single nodes are equal', async t => {
  const log: string[] = [];
  const connection = await open(t, cluster().server, { log });
  const expected = await inJson();
  assert.equal(expected.length, 604);
  assert.deepEqual(await connection.cluster.nodes.list(), expected);
  assert.equal(log.filter(line => line.includes(`Accept: ${PROTOBUF}`)).length, PAGES);
  for (const node of expected.slice(-5)) assert.deepEqual(await connection.cluster.nodes.get(node.name), node);
  assert.ok(log.some(line => /^answer body: [1-9]\d+ bytes of application\/vnd\.kubernetes\.protobuf$/.test(line)));
  assert.equal(await connection.cluster.nodes.get('nobody'), undefined);
});

test('requests compressed lists, as kubectl does, unless the kubeconfig disables it', async t => {
  const { server } = await relay(t, cluster());
  for (const [plain, encoding] of [
    [false, 'gzip'],
    [true, undefined],
  ] as const) {
    const log: string[] = [];
    const connection = await open(t, server, { log, plain });
    assert.deepEqual(await connection.cluster.nodes.list(), await inJson());
    const [first = ''] = log.filter(line => line.startsWith('answer headers: '));
    assert.equal(JSON.parse(first.slice('answer headers: '.length))['content-encoding'], encoding);
  }
});

test('the product reads compressed lists', async () => {
  assert.equal((await cli(cluster(), ['install'])).code, 0);
  const { code, stdout, stderr } = await cli(cluster(), ['diff', '-v', '8']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: '' }, stderr);
  const packed = stderr.split('\n').filter(line => line.includes('"content-encoding":"gzip"'));
  assert.equal(packed.length, PAGES, 'pages of nodes');
});

test('restarts a list once if its continue token expired, and returns each node once', async t => {
  let [refused, ends] = [0, 0];
  const { server, asked } = await relay(t, cluster(), {
    refuse: path => (path.includes('continue=') && refused++ === 0 ? 410 : undefined),
    onEnd: () => {
      ends += 1;
    },
  });
  const connection = await open(t, server);
  assert.deepEqual(await connection.cluster.nodes.list(), await inJson());
  assert.deepEqual([refused, ends, asked.length], [2, 3, 4]);
  const expiring = await relay(t, cluster(), { refuse: path => (path.includes('continue=') ? 410 : undefined) });
  await assert.rejects(
    (await open(t, expiring.server)).cluster.nodes.list(),
    /^NodepoolError: cannot list nodes: .* 410\b/,
  );
  assert.equal(expiring.asked.length, 4, 'two pages, twice');
});

test('prefetches one page', async t => {
  const begun: string[] = [];
  let [ended, most] = [0, 0];
  const pages = 3;
  const { server, asked } = await relay(t, cluster(), {
    path: asked => asked.replace(/limit=\d+/, 'limit=300'),
    refuse(path) {
      begun.push(path);
      most = Math.max(most, begun.length - ended);
      return undefined;
    },
    async onEnd(path) {
      // No page ends before the next one is requested, with time for one request too many. The server may finish the
      // second page before the first.
      const page = begun.indexOf(path) + 1;
      if (page < pages) await until(() => begun.length > page);
      await sleep(100);
      ended += 1;
    },
  });
  const connection = await open(t, server);
  assert.equal((await connection.cluster.nodes.list()).length, 604);
  assert.deepEqual([asked.length, most], [pages, 2]);
  assert.deepEqual(begun.map(limitOf), ['500', '2000', '2000']);
});

test('responses to a patch, a conflict and a missing node are equal', async t => {
  const connection = await open(t, cluster().server);
  const node = await connection.cluster.nodes.get('tainted');
  assert.ok(node);
  const patch = { resourceVersion: node.resourceVersion, labels: { team: 'a' }, taints: node.taints };
  const write = await connection.cluster.nodes.patch('tainted', patch);
  assert.equal(write.kind, 'written');
  const now = (await inJson()).find(({ name }) => name === 'tainted');
  assert.deepEqual(write.kind === 'written' && write.node, now);
  assert.equal(now?.taints[0] && 'timeAdded' in now.taints[0], true, 'what others wrote is written back whole');
  assert.deepEqual(await connection.cluster.nodes.patch('tainted', patch), { kind: 'conflict' });
  assert.deepEqual(await connection.cluster.nodes.patch('nobody', { resourceVersion: '1' }), {
    kind: 'gone',
  });
});

test('watch events are equal', async t => {
  const transport = openTransport(cluster());
  t.after(() => transport.close());
  const lines: string[] = [];
  const reflector = new Reflector<Node>({
    name: 'nodes',
    source: listWatch(transport, NODES),
    transform: object => toNode(object as WireNode, new KeptAnnotations()),
    store: new Store(),
    clock: systemClock,
    random: Math.random,
    log: (_level, text) => lines.push(text),
  });
  t.after(() => reflector.stop());
  reflector.start();
  await reflector.synced();
  const cached = () => new Map([...reflector.store.items()].map(({ object }) => [object.name, object]));
  assert.deepEqual(cached(), new Map((await inJson()).map(node => [node.name, node])));
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/plain', { metadata: { labels: { seen: 'yes' } } });
  await until(() => cached().get('plain')?.labels.seen === 'yes');
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/without-status');
  await until(() => !cached().has('without-status'));
  assert.deepEqual(cached(), new Map((await inJson()).map(node => [node.name, node])));
});

test('pod counts are equal', async t => {
  const client = raw(cluster());
  const container = { name: 'c', image: 'i' };
  for (const [index, nodeName] of ['plain', 'plain', 'bare', undefined].entries()) {
    const spec = { containers: [container], ...(nodeName === undefined ? {} : { nodeName }) };
    await client.expect('POST', '/api/v1/namespaces/default/pods', { metadata: { name: `p${index}` }, spec });
  }
  const counts = await (await open(t, cluster().server)).pods.countByNode();
  assert.deepEqual(Object.fromEntries(counts), { plain: 2, bare: 1 });
  const json = await relay(t, cluster(), { accept: () => 'application/json' });
  assert.deepEqual(await (await open(t, json.server)).pods.countByNode(), counts);
  const list = (await client.expect('GET', '/api/v1/pods?fieldSelector=spec.nodeName!=')) as { items: object[] };
  assert.deepEqual(list.items.map(toPlace).length, 3);
});

test('reports a protobuf error like the same error in JSON', async t => {
  const refusalOf = async (connection: Promise<Connection>, patch = false): Promise<string> => {
    const { cluster: port } = await connection;
    const labels = { team: 'not/a/value' };
    const asking: Promise<unknown> = patch
      ? port.nodes.patch('plain', { resourceVersion: (await port.nodes.get('plain'))?.resourceVersion ?? '', labels })
      : port.nodes.list();
    return asking.then(
      () => assert.fail('it is refused'),
      (error: NodepoolError) => `${error.message}; ${error.next}`,
    );
  };
  const json = await relay(t, cluster(), { accept: () => 'application/json' });
  const invalid = await refusalOf(open(t, cluster().server), true);
  assert.match(invalid, /cannot patch Node "plain": invalid: metadata.labels: Invalid value/);
  assert.equal(invalid, await refusalOf(open(t, json.server), true));
  const kubeconfig = await kubeconfigFor(cluster(), 'stranger');
  const stranger = await connect({ kubeconfig, env: {}, version: '0.0.0', log: () => {} });
  t.after(() => stranger.close());
  assert.match(await refusalOf(Promise.resolve(stranger)), /user "stranger" may not list nodes|cannot list nodes/i);
});

test('reads JSON from a server without protobuf, with the same requests', async t => {
  const paths: string[] = [];
  const { server, asked } = await relay(t, cluster(), {
    accept: () => 'application/json',
    refuse: path => void paths.push(path),
  });
  const connection = await open(t, server);
  assert.deepEqual(await connection.cluster.nodes.list(), await inJson());
  assert.deepEqual(paths.map(limitOf), ['500', '500'], 'each page of JSON is held in memory');
  assert.deepEqual(asked, Array(PAGES).fill(`${PROTOBUF}, application/json`));
  const node = await connection.cluster.nodes.get('plain');
  assert.ok(node);
  const write = await connection.cluster.nodes.patch('plain', { ...node, labels: { json: 'yes' } });
  assert.equal(write.kind === 'written' && write.node.labels.json, 'yes');
});

test('reports truncated protobuf', async t => {
  const { server } = await relay(t, cluster(), { change: body => body.subarray(0, 20) });
  const connection = await open(t, server);
  const problem = new RegExp(`^NodepoolError: cannot read the answer of ${server}: `);
  await assert.rejects(connection.cluster.nodes.list(), problem);
  await assert.rejects(connection.cluster.nodes.get('plain'), problem);
});

test('reads a node with an unknown taint field as JSON, and keeps the field', async t => {
  const taint = { key: 'future', value: MARK, effect: 'NoSchedule' };
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/bare', { spec: { taints: [taint] } });
  const { server, asked } = await relay(t, cluster(), { change: renumber });
  const connection = await open(t, server);
  const expected = await inJson();
  const bare = expected.find(({ name }) => name === 'bare');
  assert.equal(bare?.taints[0]?.value, MARK);
  assert.deepEqual(await connection.cluster.nodes.get('bare'), bare);
  assert.deepEqual(asked, [`${PROTOBUF}, application/json`, 'application/json']);
  assert.deepEqual(await connection.cluster.nodes.list(), expected);
  const { taints, resourceVersion } = bare;
  const write = await connection.cluster.nodes.patch('bare', { resourceVersion, labels: { team: 'a' }, taints });
  assert.equal(write.kind === 'written' && write.node.taints[0]?.value, MARK);

  asked.length = 0;
  const bareNow = (await connection.cluster.nodes.get('bare')) ?? assert.fail();
  const tried = await connection.cluster.nodes.patch(
    'bare',
    { ...bareNow, labels: { team: 'dry' } },
    { isTrial: true },
  );
  assert.equal(
    tried.kind === 'written' && tried.node.labels.team,
    'dry',
    'the answer of a dry run cannot be read again',
  );
  assert.equal(asked.at(-1), 'application/json');

  const watched = connection.cluster.nodes.watch();
  const lines: { type: string; object: WireNode }[] = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  const options = { resourceVersion: bare.resourceVersion, initialEvents: false, timeoutSeconds: 30 };
  const watch = () =>
    watched.source.watch({ ...options, signal: stop.signal }, line => lines.push(line as (typeof lines)[number]));
  const broken = await watch();
  assert.equal(broken.kind, 'broken', 'the reflector goes on from there');
  assert.equal(lines.length, 0);
  void watch();
  await until(() => lines.some(({ object }) => object.spec?.taints?.[0]?.value === MARK));
});

/** Changes the field number of a taint's value to an unknown one, where the value is MARK. */
function renumber(body: Buffer): Buffer {
  const found = body.indexOf(Buffer.concat([Buffer.from([0x12, MARK.length]), Buffer.from(MARK)]));
  if (found >= 0) body[found] = 0x4a;
  return body;
}
