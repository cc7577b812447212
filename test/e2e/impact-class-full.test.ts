/** The impact on pods with the RuntimeClass of their pool, which changes with it: on the real controller manager and scheduler. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const TEST_MS = 180_000;
const REPLICAS = 5;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

interface Pod {
  metadata: { uid: string; deletionTimestamp?: string };
  spec: { nodeName?: string };
}

describe('pods with the RuntimeClass of their pool', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());

  const pods = async () => ((await api().expect('GET', PODS)) as { items: Pod[] }).items;
  const allRun = (what: string, isNew: (pod: Pod) => boolean) =>
    eventually(what, async () => {
      const all = await pods();
      return all.length === REPLICAS && all.every(pod => isNew(pod) && /^web-/.test(pod.spec.nodeName ?? ''));
    });
  const impact = async () => (await cli(testEnv.cluster(), ['diff', 'web', '--impact'])).stdout;

  test('are created again in it, as foretold, when its labels and taints change', { timeout: TEST_MS }, async t => {
    await testEnv.nodes(
      { name: 'web-1', labels: role('web') },
      { name: 'web-2', labels: role('web') },
      { name: 'free' },
    );
    await testEnv.pool('web', { handler: 'runc', labels: { tier: 'silver' } });
    await testEnv.reconcile();
    const labels = { app: 'vm' };
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const spec = { runtimeClassName: 'node-pool-web', terminationGracePeriodSeconds: 0, containers };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: 'vm' },
      spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    t.after(() => api().expect('DELETE', `${DEPLOYMENTS}/vm?propagationPolicy=Background`));
    await allRun('the pods run', () => true);

    const change = async (spec: NodePoolSpec) => {
      const before = new Set((await pods()).map(({ metadata }) => metadata.uid));
      await testEnv.edit('web', { spec });
      const told = await impact();
      await testEnv.reconcile();
      return { told, before };
    };
    const label = await change({ labels: { tier: 'bronze' } });
    assert.match(label.told, /^Impact: no pod starts, stops, or loses its place,/m);
    await api().expect('DELETE', `${PODS}?labelSelector=app=vm`);
    await allRun('the pods run again', ({ metadata }) => !label.before.has(metadata.uid));

    const taint = await change({ taints: [{ key: 'dedicated', value: 'web', effect: 'NoExecute' }] });
    assert.match(taint.told, /^ {2}5 pods of Deployment default\/vm: can go: 5 on pool web$/m);
    assert.doesNotMatch(taint.told, /Not judged/);
    await allRun('the evicted pods run again', ({ metadata }) => !taint.before.has(metadata.uid));

    await testEnv.edit('web', { spec: { noExecute: 'Drain' } });
    await testEnv.reconcile();
    const drain = await change({ taints: [{ key: 'dedicated', value: 'other', effect: 'NoExecute' }] });
    assert.match(drain.told, /^ {2}5 pods of Deployment default\/vm: can go: 5 on pool web$/m);
    await allRun('the drained pods run again', ({ metadata }) => !drain.before.has(metadata.uid));
  });
});
