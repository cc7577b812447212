/** docs/commands/get.md and output.md, run by page.ts on the pools below. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { allowed, followPage, type Meanwhile, pageShell, type Shell } from './page.ts';

const worker = { 'node-role.kubernetes.io/worker': '' };
const gpu = { 'node-restriction.kubernetes.io/accelerator': 'nvidia' };
const gpuResources = { cpu: '16', memory: '65536000Ki', 'nvidia.com/gpu': '4' };
const NODES: NodeSpec[] = [
  { name: 'gpu-1', labels: gpu, allocatable: gpuResources },
  { name: 'gpu-2', labels: gpu, allocatable: gpuResources },
  { name: 'worker-1', labels: worker },
  { name: 'worker-2', labels: worker },
];

const POOLS = [
  'kubectl nodepool create gpu --node-selector node-restriction.kubernetes.io/accelerator=nvidia' +
    ' --taint nvidia.com/gpu=present:NoSchedule --handler nvidia',
  'kubectl nodepool create worker --label tier=silver',
  'kubectl label nodepool gpu team=ml',
  'kubectl label nodepool worker team=web',
  'kubectl nodepool reconcile',
  'kubectl nodepool create spot --node-selector cloud.example.com/lifecycle=spot',
];

const MEANWHILE: Meanwhile = {
  'kubectl nodepool get -w --output-watch-events': [
    [/^ADDED +worker /m, 'kubectl nodepool reconcile spot'],
    [/^MODIFIED +spot +200 /m, 'kubectl nodepool delete spot --yes'],
    [/^DELETED +spot /m, '^C'],
  ],
};

const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));
let shell: Shell | undefined;

/** Creates the pools once. */
async function prepared(): Promise<Shell> {
  if (shell !== undefined) return shell;
  shell = await pageShell(cluster(), '');
  for (const command of POOLS) await allowed(shell, command);
  return shell;
}

for (const page of ['docs/commands/get.md', 'docs/commands/output.md']) {
  test(`${page} shows what its commands print`, async () => {
    await followPage(page, await prepared(), MEANWHILE);
  });
}
