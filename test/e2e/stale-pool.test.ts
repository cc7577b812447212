/** A controller whose cache of pools lags behind its cache of nodes, on a real API server: the controller writes no older spec. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import { connect } from '../../src/kube/connect.ts';
import { parseRecord } from '../../src/nodepool/plan/record.ts';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { ClusterState } from '../../src/reconciler/state/cluster-state.ts';
import { aNodeWriter } from '../unit/reconciler/reconciler-options.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('keeps a node that another process wrote for a newer spec, even if this spec releases it', async t => {
  const { kubeconfig } = testEnv.cluster();
  const connection = await connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0-test' });
  t.after(() => connection.close());
  const { cluster } = connection;
  await testEnv.nodes({ name: 'a', labels: { ...role('web'), zone: 'x' } }, { name: 'b', labels: { zone: 'y' } });
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const lagging = (await cluster.pools.getCoerced('web')) ?? assert.fail();
  const zones = [{ key: 'zone', operator: 'In', values: ['x', 'y'] }];
  await testEnv.edit('web', { spec: { labels: { tier: 'silver' }, matchExpressions: zones } });
  await testEnv.reconcile();
  const tierOf = async (name: string) => (await testEnv.node(name)).metadata.labels.tier;
  assert.deepEqual([await tierOf('a'), await tierOf('b')], ['silver', 'silver']);
  const { metadata } = await testEnv.node('a');
  const { generation } = parseRecord(metadata.annotations?.[RECORD_ANNOTATION]) ?? assert.fail();
  assert.equal(generation, (await testEnv.getPool('web'))?.metadata.generation);

  const nodes = [await cluster.nodes.get('a'), await cluster.nodes.get('b')].flatMap(node => node ?? []);
  const state = new ClusterState([lagging], nodes, []);
  const writer = aNodeWriter(cluster, state, { clock: systemClock, hasCaches: true });
  assert.deepEqual([writer.needsWrite('a'), writer.needsWrite('b')], [true, true]);
  await Promise.all([writer.write('a'), writer.write('b')]);
  assert.deepEqual([await tierOf('a'), await tierOf('b')], ['silver', 'silver']);
  assert.equal((await testEnv.node('a')).metadata.resourceVersion, metadata.resourceVersion, 'not written');
});
