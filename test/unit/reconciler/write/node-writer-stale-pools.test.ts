/** A pool cache that lags behind the nodes: no older spec is written over a newer one, and the older spec is used only for a while. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER, type NodePool, type NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { Server } from '../node-server.ts';
import { aNodeWriter } from '../reconciler-options.ts';

const pool = (generation: number, spec: NodePoolSpec): NodePool =>
  aPool(spec, { generation, resourceVersion: `${10 + generation}`, finalizers: [FINALIZER] });
const tier = (value: string, more: Partial<NodePoolSpec> = {}): NodePoolSpec => ({
  nodeSelector: { group: 'a' },
  labels: { tier: value },
  ...more,
});
const older = pool(4, tier('gold'));
const newer = pool(5, tier('silver'));
const silver = (name: string, generation?: number) =>
  aNode({
    name,
    uid: `uid-${name}`,
    labels: { group: 'a', tier: 'silver' },
    record: recordOf({ pool: 'worker', generation, labels: { tier: 'silver' } }),
  });

function begin(known: NodePool, nodes: ReturnType<typeof silver>[], live: () => NodePool | undefined) {
  const servers = new Map(nodes.map(node => [node.name, new Server(node)]));
  const serverOf = (name: string) => servers.get(name) ?? assert.fail();
  const state = new ClusterState([known], nodes, []);
  let reads = 0;
  const cluster = {
    nodes: {
      patch: (name: string, patch: Parameters<ClusterPort['nodes']['patch']>[1]) =>
        serverOf(name).port.nodes.patch(name, patch),
      get: (name: string) => serverOf(name).port.nodes.get(name),
    },
    pools: {
      async getCoerced() {
        reads++;
        return live();
      },
    },
  } as unknown as ClusterPort;
  const writer = aNodeWriter(cluster, state, { hasCaches: true });
  return { state, writer, serverOf, reads: () => reads };
}

test('reads the pool instead of writing an older spec to a node with a newer generation', async () => {
  for (const known of [older, pool(4, tier('gold', { rollout: {} })), pool(4, { nodeSelector: { group: 'b' } })]) {
    const { state, writer, serverOf, reads } = begin(known, [silver('a', 5)], () => newer);
    assert.equal(writer.needsWrite('a'), true);
    assert.equal(await writer.write('a'), undefined);
    assert.deepEqual([serverOf('a').sent, reads(), state.pool('worker')], [[], 1, newer]);
  }
});

test('plans again when a conflict shows that the node has a newer generation', async () => {
  const start = aNode({ ...silver('a'), labels: { group: 'a' }, record: recordOf({ pool: 'worker', generation: 3 }) });
  const { writer, serverOf, reads } = begin(older, [start], () => newer);
  serverOf('a').onPatch = attempt => {
    const { labels, record = '' } = silver('a', 5);
    if (attempt === 1) serverOf('a').change({ labels, record });
    return undefined;
  };
  await writer.write('a');
  assert.deepEqual([serverOf('a').live?.labels.tier, serverOf('a').sent.length, reads()], ['silver', 1, 1]);
});

test('fails without a write when the pool cannot be read', async () => {
  const { writer, serverOf } = begin(older, [silver('a', 5)], () => {
    throw new NodepoolError('cluster', 'cannot get it');
  });
  await assert.rejects(writer.write('a'), { message: 'cannot get it' });
  assert.deepEqual(serverOf('a').sent, []);
});

test('reads the pool once for all nodes with an unknown generation', async () => {
  const { writer, serverOf, reads } = begin(older, [silver('a', 9), silver('b', 7)], () => older);
  await Promise.all(['a', 'b'].map(name => writer.write(name)));
  await writer.write('a');
  for (const name of ['a', 'b']) {
    assert.equal(serverOf(name).live?.labels.tier, 'gold');
    assert.equal(serverOf(name).live?.record, recordOf({ pool: 'worker', generation: 4, labels: { tier: 'gold' } }));
  }
  assert.equal(reads(), 1);
});

test('does not write records of earlier versions only to add a generation', async () => {
  const { writer, reads } = begin(newer, [silver('a'), silver('b', 2)], () => newer);
  assert.deepEqual([writer.needsWrite('a'), writer.needsWrite('b'), reads()], [false, false, 0]);
  const before = begin(older, [silver('a')], () => newer);
  await before.writer.write('a');
  assert.deepEqual([before.serverOf('a').live?.labels.tier, before.reads()], ['gold', 0]);
});

test('corrects an unknown generation only with another write, without a read', async () => {
  const { writer, state, serverOf, reads } = begin(newer, [silver('a', 9)], () => newer);
  await writer.write('a');
  assert.deepEqual([serverOf('a').sent, reads()], [[], 0]);
  serverOf('a').change({ labels: { group: 'a', tier: 'theirs' } });
  state.setNode(serverOf('a').live ?? assert.fail());
  await writer.write('a');
  const record = recordOf({ pool: 'worker', generation: 5, labels: { tier: 'silver' } });
  assert.deepEqual([serverOf('a').live?.labels.tier, serverOf('a').live?.record, reads()], ['silver', record, 1]);
});
