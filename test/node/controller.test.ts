/** The controller as its manifests run it: in pods of a real kubelet, with the token of its ServiceAccount. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { PAUSE_IMAGE } from '../cluster/node/config.ts';
import { nodeObstacle } from '../cluster/node/start.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from '../e2e/commands.ts';
import type { LiveNode } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { becomes, type Contents, contents } from './contents.ts';
import { useNodeEnv } from './node-env.ts';

const NAMESPACE = 'nodepool-system';
const PODS = '/api/v1/namespaces/default/pods';
const obstacle = await nodeObstacle();

interface Pod {
  spec: { nodeName: string };
  metadata: { name: string };
  status: { containerStatuses?: { ready: boolean; restartCount: number; containerID: string }[] };
}

suite('the controller in pods of a real node', { skip: obstacle ?? false }, () => {
  // The controller prefers the first one, as the node of a control plane.
  const env = useNodeEnv('system-1', 'real-1');
  const { ok } = commandsOf(env.cluster);
  const api = () => raw(env.cluster());
  const pods = async () =>
    ((await api().expect('GET', `/api/v1/namespaces/${NAMESPACE}/pods`)) as { items: Pod[] }).items;
  const node = async () => (await api().expect('GET', '/api/v1/nodes/real-1')) as LiveNode;
  const leader = async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/kubectl-nodepool`;
    return (
      ((await api().request('GET', path)).body as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? ''
    );
  };

  /** Also those that are being deleted: the API server removes them when the kubelet has ended them. */
  const names = async () => {
    const { items } = (await api().expect('GET', PODS)) as { items: Pod[] };
    return items.map(({ metadata }) => metadata.name);
  };
  const container = async (pod: string) => {
    const { status } = (await api().expect('GET', `${PODS}/${pod}`)) as Pod;
    return status.containerStatuses?.[0]?.containerID ?? '';
  };
  let before: Contents | undefined;
  /** Starts a pod that waits, on the real node, and waits until it runs. */
  const run = async (name: string, more: object) => {
    const containers = [{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'Never' }];
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } } };
    const nodeSelector = { 'kubernetes.io/hostname': 'real-1' };
    const spec = { containers, nodeSelector, terminationGracePeriodSeconds: 1, ...more };
    await api().expect('POST', PODS, { ...pod, spec });
    await env.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
  };

  test('install --controller starts two Ready pods', { timeout: 180_000 }, async t => {
    await env.kubectl('label', 'node', 'system-1', 'node-role.kubernetes.io/control-plane=');
    before = await contents(env.cluster());
    await ok(['install', '--controller']);
    try {
      await eventually(
        'two pods are ready',
        async () => {
          const all = await pods();
          return all.length === 2 && all.every(({ status }) => status.containerStatuses?.[0]?.ready);
        },
        90_000,
      );
    } catch (error) {
      t.diagnostic(await env.node('system-1').report());
      t.diagnostic(await env.kubectl('-n', NAMESPACE, 'describe', 'pods'));
      for (const { metadata, spec } of await pods()) t.diagnostic(await env.node(spec.nodeName).logs(metadata.name));
      throw error;
    }
    await eventually('one is leader', async () => (await leader()) !== '');
    const isKwoks = JSON.stringify([await pods(), await node()]).includes('"manager":"kwok');
    assert.ok(!isKwoks, 'kwok writes for simulated nodes alone');
  });

  test('the pool sets its labels and taints on the real node', async () => {
    await ok(['create', 'real', '--nodes', 'real-1', '--label', 'tier=gold', '--taint', 'real=yes:PreferNoSchedule']);
    await eventually('the node has them', async () => {
      const { metadata, spec } = await node();
      return metadata.labels.tier === 'gold' && spec.taints?.some(({ key }) => key === 'real');
    });
    const { stdout } = await cli(env.cluster(), ['get', 'real', '--no-headers']);
    assert.match(stdout, /^real +Ready +1 /);
  });

  test("another pod becomes leader after the leader's container is killed", { timeout: 120_000 }, async () => {
    const first = await leader();
    const pod = (await pods()).find(({ metadata }) => first.startsWith(metadata.name));
    assert.ok(pod);
    await env.node(pod.spec.nodeName).kill(pod.status.containerStatuses?.[0]?.containerID ?? '');
    await eventually('another is leader', async () => !['', first].includes(await leader()), 60_000);
    await ok(['edit', 'real', '--label', 'tier=silver']);
    await eventually('the new leader reconciles', async () => (await node()).metadata.labels.tier === 'silver');
    await eventually(
      'the kubelet restarts the container',
      async () =>
        (await pods()).some(
          ({ status }) => status.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].ready,
        ),
      60_000,
    );
  });

  test('a NoExecute taint of the pool evicts a running pod that does not tolerate it', {
    timeout: 120_000,
  }, async () => {
    await run('victim', {});
    await run('tolerant', { tolerations: [{ key: 'evict', operator: 'Exists' }] });
    const [victim, tolerant] = await Promise.all(['victim', 'tolerant'].map(container));
    const isRunning = (id = '') => env.node('real-1').isRunning(id);
    assert.deepEqual(await Promise.all([victim, tolerant].map(isRunning)), [true, true]);
    const edited = await cli(env.cluster(), ['edit', 'real', '--taint', 'evict=now:NoExecute', '--yes']);
    assert.match(edited.stderr, /evict \d pods? at once.*\n.*\n.*default\/victim/);
    assert.equal(edited.code, 0);
    await eventually('the pod is gone', async () => !(await names()).includes('victim'), 60_000);
    assert.deepEqual(await names(), ['tolerant']);
    assert.deepEqual(await Promise.all([victim, tolerant].map(isRunning)), [false, true], 'its process has ended');
    await ok(['edit', 'real', '--taint', 'evict-']);
    await eventually('the taint is gone', async () => !(await node()).spec.taints?.some(({ key }) => key === 'evict'));
    await env.kubectl('delete', 'pod', 'tolerant', '--wait', '--grace-period=1');
  });

  test('uninstall removes everything', { timeout: 120_000 }, async () => {
    await ok(['delete', 'real', '--detach-nodes', '--yes']);
    await ok(['uninstall', '--controller', '--yes']);
    await eventually(
      'the namespace is gone',
      async () => (await api().request('GET', `/api/v1/namespaces/${NAMESPACE}`)).status === 404,
      90_000,
    );
    await ok(['uninstall', '--yes']);
    await becomes(env.cluster(), before);
  });
});
