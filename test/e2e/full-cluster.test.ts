/**
 * `reconcile --watch` beside kube-controller-manager and kube-scheduler, with kwok as the kubelets. Every node has room
 * for two pods, so a pod stays pending only if nodes with room were refused.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import type { NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const TEST_MS = 60_000;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const CONTAINERS = [{ name: 'main', image: 'registry.example.com/main:1' }];

interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName?: string; tolerations?: { key?: string; effect?: string }[] };
  status: { phase: string; conditions?: { type: string; reason?: string }[] };
}

const small = (name: string, labels: Record<string, string> = {}): NodeSpec => ({
  name,
  labels,
  allocatable: { pods: '2' },
});

describe('a full cluster', () => {
  const testEnv = useFullTestEnv({ audit: true });
  const api = () => raw(testEnv.cluster());

  async function deploy(t: { after(fn: () => unknown): void }, app: string, replicas: number, spec: object) {
    const labels = { app };
    const template = { metadata: { labels }, spec: { ...spec, containers: CONTAINERS } };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: app },
      spec: { replicas, selector: { matchLabels: labels }, template },
    });
    t.after(async () => {
      await api().expect('DELETE', `${DEPLOYMENTS}/${app}?propagationPolicy=Background`);
      await eventually(`the pods of ${app} go`, async () => (await podsOf(app)).length === 0);
    });
  }

  const scale = (app: string, replicas: number) =>
    api().expect('PATCH', `${DEPLOYMENTS}/${app}`, { spec: { replicas } });

  /** Pods that are not terminating. */
  async function podsOf(app: string): Promise<Pod[]> {
    const { items } = (await api().expect('GET', `${PODS}?labelSelector=app=${app}`)) as { items: Pod[] };
    return items.filter(pod => pod.metadata.deletionTimestamp === undefined);
  }

  const uidsOf = async (app: string) => (await podsOf(app)).map(({ metadata }) => metadata.uid).sort();

  /** The node of each pod, sorted by pod name; `none` for an unschedulable pod. */
  async function places(app: string): Promise<string> {
    const found = (await podsOf(app)).map(({ spec, status }) => {
      if (spec.nodeName !== undefined) return status.phase === 'Running' ? spec.nodeName : `${spec.nodeName}?`;
      return status.conditions?.some(({ reason }) => reason === 'Unschedulable') ? 'none' : '?';
    });
    return found.sort().join(' ');
  }

  /** Waits until the pods run on these nodes. */
  async function runs(app: string, expected: string): Promise<void> {
    let last = '';
    const found = async () => {
      last = await places(app);
      return last === expected;
    };
    await eventually(`${app} on ${expected}`, found).catch(error => {
      throw new Error(`${error.message}, but on ${last}`);
    });
  }

  const tainted = (node: string, taint: string) =>
    eventually(`${node} is tainted`, async () => taintsOf(await testEnv.node(node)).join() === taint);

  test('pods of the RuntimeClass run only on nodes of the pool', { timeout: TEST_MS }, async t => {
    await testEnv.nodes(small('a-1', role('alpha')), small('a-2', role('alpha')), small('a-other'));
    await startWatching(t, testEnv.cluster());
    await testEnv.pool('alpha', {
      labels: { tier: 'alpha' },
      taints: [{ key: 'dedicated', value: 'alpha', effect: 'NoSchedule' }],
      handler: 'runc',
    });
    await tainted('a-1', 'dedicated=alpha:NoSchedule');
    await tainted('a-2', 'dedicated=alpha:NoSchedule');

    await deploy(t, 'batch', 5, { runtimeClassName: 'node-pool-alpha' });
    await runs('batch', 'a-1 a-1 a-2 a-2 none');

    await scale('batch', 3);
    await eventually('there is room in the pool', async () => (await places('batch')).split(' ').length === 3);
    await deploy(t, 'web', 3, {});
    await runs('web', 'a-other a-other none');
    await scale('batch', 4);
    await runs('batch', 'a-1 a-1 a-2 a-2');
  });

  test('new pods follow a node that moves to another pool', { timeout: TEST_MS }, async t => {
    await testEnv.nodes(small('b-1', role('blue')), small('r-1', role('red')), small('mover', role('red')));
    await startWatching(t, testEnv.cluster());
    for (const pool of ['red', 'blue']) {
      await testEnv.pool(pool, { taints: [{ key: 'dedicated', value: pool, effect: 'NoSchedule' }], handler: 'runc' });
      await deploy(t, pool, pool === 'red' ? 4 : 3, { runtimeClassName: `node-pool-${pool}` });
    }
    await runs('red', 'mover mover r-1 r-1');
    await runs('blue', 'b-1 b-1 none');

    const stay = await uidsOf('red');
    await testEnv.patchNode('mover', {
      metadata: { labels: { 'node-role.kubernetes.io/red': null, ...role('blue') } },
    });
    await tainted('mover', 'dedicated=blue:NoSchedule');
    assert.deepEqual(await uidsOf('red'), stay, 'what runs already is not disturbed by NoSchedule');

    for (const { metadata, spec } of await podsOf('red')) {
      if (spec.nodeName === 'mover') await api().expect('DELETE', `${PODS}/${metadata.name}`);
    }
    await runs('blue', 'b-1 b-1 mover');
    await runs('red', 'none none r-1 r-1');
    await scale('blue', 4);
    await runs('blue', 'b-1 b-1 mover mover');
  });

  test('a NoExecute taint evicts pods that do not tolerate it', { timeout: TEST_MS }, async t => {
    await testEnv.nodes(small('c-1', role('calm')), small('c-2', role('calm')));
    await startWatching(t, testEnv.cluster());
    await testEnv.pool('calm', { labels: { tier: 'calm' }, handler: 'runc' });
    const here = { nodeSelector: { tier: 'calm' } };
    await deploy(t, 'intolerant', 1, here);
    await deploy(t, 'tolerant', 1, { ...here, tolerations: [{ key: 'maintenance', operator: 'Exists' }] });
    await deploy(t, 'member', 2, { runtimeClassName: 'node-pool-calm' });
    const running = async (app: string) => !/none|\?|^$/.test(await places(app));
    for (const app of ['intolerant', 'tolerant', 'member']) await eventually(`${app} runs`, () => running(app));
    const [tolerant, early] = [await uidsOf('tolerant'), await uidsOf('member')];

    await testEnv.edit('calm', { spec: { taints: [{ key: 'maintenance', value: 'now', effect: 'NoExecute' }] } });
    await runs('intolerant', 'none');
    // Pods get the tolerations of their RuntimeClass at creation, so older ones are evicted too, once.
    await eventually('the pods of the RuntimeClass are new and run', async () => {
      const uids = await uidsOf('member');
      return uids.length === 2 && !uids.some(uid => early.includes(uid)) && (await running('member'));
    });
    for (const { spec } of await podsOf('member')) {
      const toleration = spec.tolerations?.find(({ key }) => key === 'maintenance');
      assert.deepEqual(toleration, { key: 'maintenance', operator: 'Equal', value: 'now', effect: 'NoExecute' });
    }

    const late = await uidsOf('member');
    for (const node of ['c-1', 'c-2']) {
      const probe = { metadata: { name: `probe-${node}`, labels: { app: 'probe' } } };
      await api().expect('POST', PODS, { ...probe, spec: { nodeName: node, containers: CONTAINERS } });
    }
    await eventually('what is put there by hand goes', async () => (await podsOf('probe')).length === 0);
    assert.deepEqual(await uidsOf('tolerant'), tolerant, 'what tolerates the taint stays');
    assert.deepEqual(await uidsOf('member'), late, 'pods with the tolerations of the RuntimeClass stay');
    assert.equal(await places('intolerant'), 'none');
  });

  test('deleting a pool deletes its RuntimeClass and history, and releases its nodes', {
    timeout: TEST_MS,
  }, async t => {
    const taint = { key: 'dedicated', value: 'd', effect: 'NoSchedule' } as const;
    await testEnv.nodes(small('d-1', role('released')), small('d-2', role('forced')));
    const watching = await startWatching(t, testEnv.cluster());
    await testEnv.pool('released', { taints: [taint], handler: 'runc', rollout: {} });
    await testEnv.pool('forced', { taints: [taint], handler: 'runc' });
    for (const node of ['d-1', 'd-2']) await tainted(node, 'dedicated=d:NoSchedule');
    await deploy(t, 'waiting', 1, {});
    await runs('waiting', 'none');

    assert.deepEqual(
      (await testEnv.revisions()).map(({ revision }) => revision),
      [1, 1],
    );
    await api().expect('DELETE', `${POOLS}/released`);
    await eventually('the pool goes', async () => (await testEnv.getPool('released')) === undefined);
    assert.equal(await testEnv.runtimeClass('released'), undefined);
    await runs('waiting', 'd-1');
    await eventually('its history is collected', async () => (await testEnv.revisions()).length === 1);

    // Without the product and the finalizer only the owner reference remains.
    assert.equal(await watching.end(), 0);
    await testEnv.edit('forced', { metadata: { finalizers: [] } });
    assert.notEqual(await testEnv.runtimeClass('forced'), undefined);
    await api().expect('DELETE', `${POOLS}/forced`);
    await eventually('it is collected', async () => (await testEnv.runtimeClass('forced')) === undefined);
    await eventually('its history is, too', async () => (await testEnv.revisions()).length === 0);

    assert.match(await whoDeleted('node-pool-released'), /^kubectl-nodepool\//);
    assert.match(await whoDeleted('node-pool-forced'), /^kube-controller-manager\/.*generic-garbage-collector$/);
  });

  /** The user agents, one a line. */
  async function whoDeleted(runtimeClass: string): Promise<string> {
    const events = (await readAudit(testEnv.cluster())).filter(
      ({ verb, resource, name, code }) =>
        verb === 'delete' && resource === 'runtimeclasses' && name === runtimeClass && code === 200,
    );
    return events.map(({ userAgent }) => userAgent).join('\n');
  }
});
