/** Live reads replace the state. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import {
  noStatusSubresource,
  RestoredError,
  readNode,
  readPool,
  recreatedError,
} from '../../../../src/reconciler/state/live-reads.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';
import { reconcilerOptions } from '../reconciler-options.ts';

const pool = aPool({}, { resourceVersion: '5' });
const node = aNode();
const metadata = { ...pool.metadata, resourceVersion: '6' };

function begin(answers: { pool?: NodePool; node?: Node }, meanwhile: (state: ClusterState) => void = () => {}) {
  const state = new ClusterState([pool], [node], []);
  const answer = async <T>(object: T) => {
    meanwhile(state);
    return object;
  };
  const cluster = {
    pools: {
      getCoerced: () => answer(answers.pool),
    },
    nodes: {
      get: () => answer(answers.node),
    },
  } as unknown as ClusterPort;
  return { state, options: reconcilerOptions(cluster, state) };
}

test('returns an existing pool and node, and stores them', async () => {
  const answers = { pool: { ...pool, metadata }, node: aNode({ resourceVersion: '8' }) };
  const { state, options } = begin(answers);
  assert.equal(await readPool('worker', pool.metadata.uid, options), answers.pool);
  assert.equal(await readNode('n1', node.uid, options), answers.node);
  assert.deepEqual([state.pool('worker'), state.node('n1')], [answers.pool, answers.node]);
});

test('removes a missing pool and node from the state', async () => {
  const { state, options } = begin({});
  assert.deepEqual(
    [await readPool('worker', pool.metadata.uid, options), await readNode('n1', node.uid, options)],
    [undefined, undefined],
  );
  assert.deepEqual([state.pool('worker'), state.node('n1')], [undefined, undefined]);
});

test('"not found" for an earlier object does not remove its successor', async () => {
  const [pool2, node2] = [{ ...pool, metadata: { ...metadata, uid: 'later' } }, aNode({ uid: 'later' })];
  const { state, options } = begin({}, known => {
    known.setPool(pool2);
    known.setNode(node2);
  });
  await readPool('worker', pool.metadata.uid, options);
  await readNode('n1', node.uid, options);
  assert.deepEqual([state.pool('worker'), state.node('n1')], [pool2, node2]);
});

test('keeps a delete that arrives during the read, until a later response restores the object', async () => {
  const { state, options } = begin({ pool, node }, known => {
    known.removePool('worker', pool.metadata.uid);
    known.removeNode('n1', node.uid);
  });
  await readPool('worker', pool.metadata.uid, options);
  await readNode('n1', node.uid, options);
  assert.deepEqual([state.pool('worker'), state.node('n1')], [undefined, undefined]);
  const cluster = {
    pools: { getCoerced: async () => pool },
    nodes: { get: async () => node },
  } as unknown as ClusterPort;
  await readPool('worker', pool.metadata.uid, { ...options, cluster });
  await readNode('n1', node.uid, { ...options, cluster });
  assert.deepEqual([state.pool('worker'), state.node('n1')], [pool, node]);
});

test('fails when the pool on the server is older than before the read', async () => {
  const older = { ...pool, metadata: { ...metadata, resourceVersion: '4' } };
  const { state, options } = begin({ pool: older });
  await assert.rejects(readPool('worker', pool.metadata.uid, options), RestoredError);
  assert.equal(state.pool('worker'), pool);
  const newer = { ...pool, metadata };
  const late = begin({ pool }, known => known.setPool(newer));
  await readPool('worker', pool.metadata.uid, late.options);
  assert.equal(late.state.pool('worker'), newer);
});

test('errors name what failed, the pool and the next step', () => {
  const { kind, message, next } = recreatedError('worker', 'deleted');
  assert.deepEqual(
    [kind, message, next],
    [
      'cluster',
      'somebody else deleted and recreated pool worker; the new pool is not changed',
      'if the new pool should also be deleted, run the command again',
    ],
  );
  const lacking = noStatusSubresource('worker');
  assert.deepEqual(
    [lacking.kind, lacking.message, lacking.next],
    [
      'cluster',
      'cannot patch the status of NodePool "worker": the CRD nodepools.nodes.lailin.xyz serves no status subresource',
      'run `kubectl nodepool install`',
    ],
  );
});
