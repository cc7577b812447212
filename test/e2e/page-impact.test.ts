/** docs/commands/impact.md: an outage by a removed label, and one by an added taint. Pods are bound without a scheduler. */
import { test } from 'node:test';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const PAGE = 'docs/commands/impact.md';
const IMAGE = 'registry.example.com/main:1';
const APPS = '/apis/apps/v1/namespaces/default';
const GROUP = 'crd.projectcalico.org';

const cluster = useCluster({ crd: true });

test('impact.md shows what its commands print', { timeout: 300_000 }, async () => {
  await stage(cluster());
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const line of [
    'kubectl nodepool create core --label route-reflector=yes --reconcile',
    'kubectl nodepool create web --label tier=web --reconcile',
  ]) {
    await allowed(sh, line);
  }
  await followPage(PAGE, sh);
});

async function stage(running: ControlPlane): Promise<void> {
  const api = raw(running);
  const small = { cpu: '1' };
  await createNodes(running, [
    ...['core-1', 'core-2'].map(name => ({ name, labels: role('core'), allocatable: { cpu: '500m' } })),
    ...['web-1', 'web-2'].map(name => ({ name, labels: role('web'), allocatable: small })),
    { name: 'spare-1', allocatable: { cpu: '500m' } },
  ]);
  await calico(running);
  const template = (app: string, more: object) => ({
    metadata: { labels: { app } },
    spec: { containers: [{ name: 'main', image: IMAGE }], ...more },
  });
  const daemonSet = (app: string, more: object) =>
    api.expect('POST', `${APPS}/daemonsets`, {
      metadata: { name: app },
      spec: { selector: { matchLabels: { app } }, template: template(app, more) },
    });
  const bird = { nodeSelector: { 'route-reflector': 'yes' } };
  await daemonSet('bird', bird);
  await daemonSet('log-shipper', { nodeSelector: { tier: 'web' } });
  for (const node of ['core-1', 'core-2']) await run(running, `bird-${node}`, node, 'DaemonSet', 'bird', bird);
  for (const node of ['web-1', 'web-2']) {
    await run(running, `log-shipper-${node}`, node, 'DaemonSet', 'log-shipper', { nodeSelector: { tier: 'web' } });
    for (const at of [0, 1]) await run(running, `shop-${node}-${at}`, node, 'ReplicaSet', 'shop', {}, '400m');
  }
}

/** Calico's own definition of the kind, as far as this needs it. */
async function calico(running: ControlPlane): Promise<void> {
  const api = raw(running);
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await api.expect('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `bgppeers.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Cluster',
      names: { kind: 'BGPPeer', plural: 'bgppeers' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  const path = `/apis/${GROUP}/v1/bgppeers`;
  await eventually('BGPPeers are served', async () => (await api.request('GET', path)).status === 200);
  await api.expect('POST', path, {
    apiVersion: `${GROUP}/v1`,
    kind: 'BGPPeer',
    metadata: { name: 'to-reflectors' },
    spec: { nodeSelector: '!has(route-reflector)', peerSelector: 'has(route-reflector)' },
  });
}

async function run(
  running: ControlPlane,
  name: string,
  node: string,
  kind: string,
  owner: string,
  spec: object,
  cpu = '10m',
): Promise<void> {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind, name: owner, uid: owner, controller: true }];
  await raw(running).expect('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name, ownerReferences },
    spec: { ...spec, nodeName: node, containers: [{ name: 'main', image: IMAGE, resources: { requests: { cpu } } }] },
  });
}
