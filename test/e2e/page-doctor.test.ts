/** docs/commands/doctor.md, with two pools of status 200, one of them with a handler that its nodes support. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/doctor.md';
const NODES: NodeSpec[] = [
  ...['system-1', 'system-2'].map(name => ({ name, labels: role('system') })),
  ...['gpu-1', 'gpu-2'].map(name => ({ name, labels: role('gpu') })),
];

const cluster = useCluster({ crd: true }, async started => {
  await createNodes(started, NODES);
  const runtimeHandlers = ['', 'runc', 'nvidia'].map(name => ({ name }));
  for (const { name } of NODES) {
    await raw(started).expect('PATCH', `/api/v1/nodes/${name}/status`, { status: { runtimeHandlers } });
  }
});

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await allowed(sh, 'kubectl nodepool create system --label tier=base');
  await allowed(sh, 'kubectl nodepool create gpu --handler nvidia');
  await allowed(sh, 'kubectl nodepool reconcile');
  await followPage(PAGE, sh);
});
