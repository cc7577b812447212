/** docs/commands/nodes.md, run by page.ts. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { container } from './many-pods.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/nodes.md';
const MAX_MS = 180_000;
const NODES: NodeSpec[] = [
  { name: 'node-1', labels: role('worker') },
  { name: 'node-2', labels: role('worker'), unschedulable: true },
  { name: 'node-3', labels: { ...role('gpu'), accelerator: 'a100' } },
  { name: 'node-4', labels: role('gpu') },
  { name: 'node-5' },
];
const BEFORE = [
  'create worker --label tier=batch',
  'create gpu --label tier=gold --taint dedicated=gpu:NoSchedule',
  'reconcile',
  'create late --node-selector accelerator=a100',
  'create strict --taint draining=now:NoExecute',
];

const owner = (kind: string) => [{ apiVersion: 'apps/v1', kind, name: 'x', uid: 'x', controller: true }];
const PODS = [
  { name: 'agent-7hs2q', ownerReferences: owner('DaemonSet') },
  { name: 'debug' },
  { name: 'web-5d9c7-k2xqp', ownerReferences: owner('ReplicaSet') },
  { name: 'web-5d9c7-zw8lm', ownerReferences: owner('ReplicaSet') },
  { name: 'patient-0', ownerReferences: owner('StatefulSet'), tolerations: { tolerationSeconds: 300 } },
  { name: 'steadfast-0', ownerReferences: owner('StatefulSet'), tolerations: {} },
];

const cluster = useCluster({ crd: true }, async started => {
  await createNodes(started, NODES);
  for (const { tolerations, ...metadata } of PODS) {
    await raw(started).expect('POST', '/api/v1/namespaces/default/pods', {
      metadata,
      spec: {
        nodeName: 'node-1',
        containers: [container('main', {})],
        ...(tolerations && {
          tolerations: [{ key: 'draining', operator: 'Exists', effect: 'NoExecute', ...tolerations }],
        }),
      },
    });
  }
});

test('every command prints what the page says', { timeout: MAX_MS }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const line of BEFORE) await allowed(sh, `kubectl nodepool ${line}`);
  await allowed(sh, 'kubectl label node node-2 tier=mine --overwrite');
  await allowed(sh, 'kubectl label node node-4 node-role.kubernetes.io/gpu-');
  await followPage(PAGE, sh);
});
