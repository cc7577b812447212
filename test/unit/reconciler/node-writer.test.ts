import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeWriter } from '../../../src/reconciler/node-writer.ts';
import type { ClusterPort } from '../../../src/reconciler/ports.ts';
import { View } from '../../../src/reconciler/view.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const ROLE = { 'node-role.kubernetes.io/worker': '' };
const unused = {} as ClusterPort;

test('what was found to need nothing is looked at again when its node or its pool changes', () => {
  const pool = aPool({ labels: { tier: 'gold' } }, { name: 'worker' });
  const node = aNode({
    name: 'a',
    labels: { ...ROLE, tier: 'gold' },
    record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }),
  });
  const view = new View([pool], [node], []);
  const writer = new NodeWriter({ cluster: unused, view, sleep: async () => {}, clock: new FakeClock() });
  const asked = () => writer.needsWrite('a');

  assert.deepEqual([asked(), asked()], [false, false]);
  view.setNode({ ...node, resourceVersion: '8', labels: { ...ROLE, tier: 'drift' } });
  assert.deepEqual([asked(), asked()], [true, true]);
  view.setNode({ ...node, resourceVersion: '9' });
  assert.equal(asked(), false);
  const silver = { ...pool, spec: { labels: { tier: 'silver' } }, metadata: { ...pool.metadata, generation: 2 } };
  view.setPool(silver);
  assert.equal(asked(), true);
  view.setPool({ ...pool, metadata: { ...pool.metadata, generation: 3 } });
  assert.equal(asked(), false);
  view.removePool('worker', pool.metadata.uid);
  assert.equal(asked(), true, 'it is let go');
  assert.equal(writer.needsWrite('nobody'), false);
});
