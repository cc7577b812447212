/**
 * Runs docs/guide.md and the READMEs with page.ts on a fresh control plane with the nodes below. Blocks without output:
 * test/contract/readme.test.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commands } from '../../src/commands/index.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';

const README = 'README.md';
const CHINESE = 'docs/zh/README.md';
const GUIDE = 'docs/guide.md';
const PERMISSIONS = 'docs/permissions.md';
const MAX_MS = 400_000;

const worker = { 'node-role.kubernetes.io/worker': '' };
const gpu = { 'node-restriction.kubernetes.io/accelerator': 'nvidia' };
const gpuResources = { cpu: '16', memory: '65536000Ki', 'nvidia.com/gpu': '4' };
const NODES: NodeSpec[] = [
  {
    name: 'control-plane-0',
    labels: { 'node-role.kubernetes.io/control-plane': '' },
    taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
  },
  { name: 'gpu-1', labels: gpu, allocatable: gpuResources },
  { name: 'gpu-2', labels: gpu, allocatable: gpuResources },
  { name: 'spare-1' },
  { name: 'worker-1', labels: worker },
  { name: 'worker-2', labels: { ...worker, tier: 'legacy' } },
];

const cluster = useCluster({}, started => createNodes(started, NODES));

test('the guide shows every command with its output', async () => {
  const shown = [...(await readPage(GUIDE)).matchAll(/^\$ kubectl nodepool ([a-z]+)/gm)].map(([, command]) => command);
  // A full screen prints nothing: the guide has its picture.
  const missing = Object.keys(commands).filter(command => command !== 'view' && !shown.includes(command));
  assert.deepEqual(missing, []);
});

// Each ends without a pool and with the nodes as they were.
for (const page of [README, CHINESE, GUIDE]) {
  test(`every command prints what ${page} shows`, { timeout: MAX_MS }, async () => {
    await followPage(page, await pageShell(cluster(), await readPage(page)));
  });
}

test('the server accepts the role in docs/permissions.md', async () => {
  const sh = await pageShell(cluster(), await readPage(PERMISSIONS));
  await allowed(sh, 'kubectl nodepool install && kubectl apply -f nodepool-operator.yaml');
  await allowed(sh, 'kubectl create clusterrolebinding operator --clusterrole=nodepool-operator --user=operator');
  await allowed(sh, 'kubectl create rolebinding operator -n default --role=nodepool-operator --user=operator');
  await allowed(sh, 'kubectl nodepool create pool --label a=b --nodes spare-1 --reconcile --as operator');
  await allowed(sh, 'kubectl nodepool delete pool --detach-nodes --yes --as operator');
});
