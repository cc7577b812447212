/** docs/commands/get.md and output.md, run by page.ts on the pools below. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { type Field, fieldsOf, pathsOf } from './documented-fields.ts';
import { allowed, followPage, type Meanwhile, pageShell, readPage, type Shell } from './page.ts';

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
    [/^MODIFIED +spot +Empty /m, '^C'],
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

/** By kind, a command that prints it. */
const DOCUMENTS = {
  PoolNodeList: 'nodes',
  NodeExplanation: 'nodes --why worker-1',
  Diff: 'diff',
  ReconcileResultList: 'reconcile --dry-run=server',
  History: 'history worker',
  PoolReport: 'report',
  PoolUsage: 'top --nodes',
  DoctorReport: 'doctor',
};

test('output.md lists the fields of every document', async () => {
  const sh = await prepared();
  const fields = fieldsOf(await readPage('docs/commands/output.md'));
  // A change, so that there is a Change.
  await allowed(sh, 'kubectl label node worker-1 tier=mine --overwrite');
  for (const [kind, command] of Object.entries(DOCUMENTS)) {
    const document = JSON.parse((await sh.run(`kubectl nodepool ${command} -o json`)).stdout) as object;
    const documented = fields.get(kind) ?? [];
    const common: Field[] = ['apiVersion', 'kind'].map(path => ({ path, isOptional: false }));
    const { found, absent } = pathsOf(document, [...common, ...documented]);
    assert.deepEqual(
      found.filter(path => ![...common, ...documented].some(field => field.path === path)),
      [],
      `${kind}: not documented`,
    );
    assert.deepEqual(absent, [], `${kind}: documented and not there`);
    assert.equal((document as { kind: string }).kind, kind);
    const yaml = (await sh.run(`kubectl nodepool ${command} -o yaml`)).stdout;
    assert.match(yaml, new RegExp(`^apiVersion: cli\\.nodes\\.lailin\\.xyz/v1alpha1\\n(.*\\n)*kind: ${kind}\\n`));
  }
});
