/** docs/commands/adopt.md, with two node groups as on EKS, and a node with a role. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { followPage, pageShell, readPage } from './page.ts';

const PAGE = 'docs/commands/adopt.md';
const group = (name: string) => ({ 'eks.amazonaws.com/nodegroup': name });
const gpu = { ...group('gpu-a100'), team: 'ml', tier: 'gold' };
const NODES: NodeSpec[] = [
  { name: 'system-1', labels: { ...group('system'), tier: 'base' } },
  { name: 'system-2', labels: { ...group('system'), tier: 'base' } },
  ...['gpu-1', 'gpu-2'].map((name, at) => ({
    name,
    labels: gpu,
    taints: [{ key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' as const }],
    ready: at === 0,
  })),
  { name: 'edge-1', labels: { 'node-role.kubernetes.io/edge': '' } },
];

const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await followPage(PAGE, sh);
});
