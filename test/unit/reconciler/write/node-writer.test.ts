import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { aNodeWriter } from '../reconciler-options.ts';

const ROLE = { 'node-role.kubernetes.io/worker': '' };
const unused = {} as ClusterPort;

test('checks an up-to-date node again when the node or its pool changes', () => {
  const pool = aPool({ labels: { tier: 'gold' } }, { name: 'worker' });
  const node = aNode({
    name: 'a',
    labels: { ...ROLE, tier: 'gold' },
    record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }),
  });
  const state = new ClusterState([pool], [node], []);
  const writer = aNodeWriter(unused, state);
  const asked = () => writer.needsWrite('a');

  assert.deepEqual([asked(), asked()], [false, false]);
  state.setNode({ ...node, resourceVersion: '8', labels: { ...ROLE, tier: 'drift' } });
  assert.deepEqual([asked(), asked()], [true, true]);
  state.setNode({ ...node, resourceVersion: '9' });
  assert.equal(asked(), false);
  const silver = { ...pool, spec: { labels: { tier: 'silver' } }, metadata: { ...pool.metadata, generation: 2 } };
  state.setPool(silver);
  assert.equal(asked(), true);
  state.setPool({ ...pool, metadata: { ...pool.metadata, generation: 3 } });
  assert.equal(asked(), false);
  state.removePool('worker', pool.metadata.uid);
  assert.equal(asked(), true, 'it is released');
  assert.equal(writer.needsWrite('nobody'), false);
});

test('reads a pool that disappears during its writes before it releases the next node', async () => {
  const labels = { ...ROLE, tier: 'gold' };
  const record = recordOf({ pool: 'worker', generation: 1, labels: { tier: 'gold' } });
  const pool = aPool({ labels: { tier: 'gold' } }, { name: 'worker', resourceVersion: '10', finalizers: [FINALIZER] });
  for (const answer of ['there', 'gone', 'refused'] as const) {
    const state = new ClusterState(
      [pool],
      [aNode({ name: 'a', labels: ROLE }), aNode({ name: 'b', labels: ROLE })],
      [],
    );
    state.setNode(aNode({ name: 'b', resourceVersion: '8', labels, record }));
    const written: string[] = [];
    const cluster = {
      nodes: {
        async patch(name: string, patch: { record?: string | null }) {
          written.push(name);
          state.removePool('worker', pool.metadata.uid);
          const rest = patch.record === null ? { labels: ROLE } : { labels, record };
          return { kind: 'written', node: aNode({ name, resourceVersion: String(8 + written.length), ...rest }) };
        },
      },
      pools: {
        async getCoerced() {
          if (answer === 'refused') throw new NodepoolError('cluster', 'cannot get it');
          return answer === 'there' ? pool : undefined;
        },
      },
    } as unknown as ClusterPort;
    const writer = aNodeWriter(cluster, state);
    const settled = async (name: string) => (await Promise.allSettled([writer.write(name)]))[0].status;
    const both = [await settled('a'), await settled('b')];
    const kept = answer === 'gone' ? ['a', 'a', 'b'] : ['a'];
    assert.deepEqual(written.toSorted(), kept, answer);
    assert.equal(state.pool('worker') === undefined, answer !== 'there');
    const ends = answer === 'refused' ? ['rejected', 'rejected'] : ['fulfilled', 'fulfilled'];
    assert.deepEqual(both, ends);
  }
});
