/** Nodes with a field that the protobuf schema of the product does not know, on a real kube-apiserver. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../../src/kube/connect.ts';
import type { WireNode } from '../../src/kube/resources/nodes.ts';
import type { Node } from '../../src/nodepool/types.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { until } from './admin-transport.ts';
import { PROTOBUF, useProtobufNodes } from './protobuf-nodes.ts';
import { relay } from './relay.ts';

/** The value of a taint whose field number the relay changes. */
const MARK = 'value-in-a-field-of-the-future';

/** Of more than a page. */
const { cluster, open, inJson } = useProtobufNodes(cluster =>
  createNodes(cluster, [
    { name: 'bare', ready: false, unschedulable: true },
    ...Array.from({ length: 600 }, (_, index) => ({ name: `many-${index}` })),
  ]),
);

async function expectNode(connection: Connection, name: string): Promise<Node> {
  const node = await connection.cluster.nodes.get(name);
  assert.ok(node);
  return node;
}

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
  const bareNow = await expectNode(connection, 'bare');
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
