/** Warnings about pools that no node matches, and about pools that select control-plane nodes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import { cliHere } from '../cluster/harness.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const CONTROL_PLANE = role('control-plane');
const OS = { 'kubernetes.io/os': 'linux' };

/** Exit code and warnings of a command. */
async function warned(args: string[], kubeconfig?: string): Promise<[code: number | null, stderr: string]> {
  const login = kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig];
  const { code, stderr } = await cliHere(cluster(), [...args, ...login]);
  return [code, stderr];
}

const noMatch = (pool: string, why: string) =>
  `warning: no node matches pool ${pool} ${why}; next: label nodes, or change the selector with \`kubectl nodepool edit ${pool}\`\n`;
const takes = (pool: string, nodes: string) =>
  `warning: pool ${pool} selects ${nodes}; next: exclude the control plane with \`kubectl nodepool edit ${pool} --node-selector '!node-role.kubernetes.io/control-plane'\`, or see them with \`kubectl get nodes -l kubernetes.io/os=linux\`\n`;

const EDGE = 'node-role.kubernetes.io/edge';
const edge = noMatch('edge', `(${EDGE}=): 2 nodes have ${EDGE}=true`);
const gpu = noMatch('gpu', '(accelerator=nvidia): 3 nodes have accelerator=nvidia-a100');

async function nearMisses(): Promise<void> {
  await testEnv.nodes(
    ...['a', 'b'].map(name => ({ name, labels: { [EDGE]: 'true' } })),
    ...['c', 'd', 'e'].map(name => ({ name, labels: { accelerator: 'nvidia-a100' } })),
  );
}

test('create names the nodes that nearly match', async () => {
  await nearMisses();
  assert.deepEqual(await warned(['create', 'edge']), [0, edge]);
  const bySelector = (name: string, selector: string) => ['create', name, '--node-selector', selector];
  assert.deepEqual(await warned(bySelector('gpu', 'accelerator=nvidia')), [0, gpu]);
  const typo = '(acelerator=nvidia): no node has the label acelerator, 3 nodes have accelerator';
  assert.deepEqual(await warned(bySelector('typo', 'acelerator=nvidia')), [0, noMatch('typo', typo)]);
  const which = `('accelerator in (amd,nvidia)'): 3 nodes have accelerator=nvidia-a100`;
  assert.deepEqual(await warned(bySelector('which', 'accelerator in (amd,nvidia)')), [0, noMatch('which', which)]);
  assert.deepEqual(await warned(bySelector('a100', 'accelerator=nvidia-a100')), [0, '']);
});

test('create prints no warning for named nodes or without nodes', async () => {
  assert.deepEqual(await warned(['create', 'edge']), [0, '']);
  await nearMisses();
  assert.deepEqual(await warned(['create', 'named', '--nodes', 'a', '--dry-run=server']), [0, '']);
});

test('edit and reconcile warn once, without another list of nodes', async () => {
  await nearMisses();
  await testEnv.pool('gpu', { nodeSelector: { accelerator: 'nvidia-a100' } });
  const nodeLists = async (args: string[]) => {
    const from = (await readAudit(cluster())).length;
    const result = await warned(args);
    const asked = (await readAudit(cluster())).slice(from);
    const lists = asked.filter(({ verb, uri }) => verb === 'list' && /\/nodes(\?|$)/.test(uri));
    return [...result, lists.filter(({ userAgent }) => userAgent.startsWith('kubectl-nodepool/')).length];
  };
  assert.deepEqual(await nodeLists(['reconcile', 'gpu']), [0, '', 1]);
  const edit = ['edit', 'gpu', '--node-selector', 'accelerator=nvidia', '--yes'];
  const leaves = 'warning: 3 of 3 nodes leave pool gpu with the new selector: c, d, e; no pool takes them\n';
  assert.deepEqual(await nodeLists([...edit, '--dry-run=server']), [0, gpu + leaves, 1]);
  assert.deepEqual(await nodeLists([...edit, '--reconcile']), [0, gpu + leaves, 2]);
  assert.deepEqual(await nodeLists(['reconcile']), [0, gpu, 1]);
  assert.deepEqual(await nodeLists(['reconcile', '--dry-run']), [0, gpu, 1]);
  assert.deepEqual(await nodeLists(['describe', 'gpu']), [0, gpu, 1]);
  await testEnv.patchNode('a', { metadata: { labels: { accelerator: 'nvidia' } } });
  assert.deepEqual(await nodeLists(['reconcile']), [0, '', 1]);
});

test('reconcile --watch warns at its start, and once for each spec', async t => {
  await nearMisses();
  await testEnv.pool('gpu', { nodeSelector: { accelerator: 'nvidia' } });
  await testEnv.reconcile();
  const watch = await startWatching(t, cluster());
  const said = () => watch.log().match(/no node matches pool gpu [^\n]*/g) ?? [];
  await eventually('it says so', () => said().length === 1);
  assert.match(said()[0] ?? '', /\(accelerator=nvidia\): 3 nodes have accelerator=nvidia-a100/);
  const labelled = (value: string | null) => testEnv.patchNode('a', { metadata: { labels: { accelerator: value } } });
  const counted = (count: number) =>
    eventually(`${count} nodes`, async () => (await testEnv.getPool('gpu'))?.status?.nodeCount === count);
  await labelled('nvidia');
  await counted(1);
  await labelled(null);
  await counted(0);
  await cliHere(cluster(), ['edit', 'gpu', '--node-selector', 'accelerator=amd', '--yes']);
  await eventually('it says so of the new spec', () => said().length === 2);
  assert.match(said()[1] ?? '', /accelerator=amd/);
});

test('create --reconcile warns once', async () => {
  await nearMisses();
  assert.deepEqual(await warned(['create', 'edge', '--reconcile']), [0, edge]);
});

test('a user who may not list nodes creates a pool without a warning', async () => {
  await nearMisses();
  const pools = { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['list', 'get', 'create'] };
  const kubeconfig = await userWith(cluster(), 'no-nodes', [pools]);
  assert.deepEqual(await warned(['create', 'edge'], kubeconfig), [0, '']);
});

test('create, edit, diff and reconcile name control-plane nodes that a pool gets', async () => {
  await testEnv.nodes(
    { name: 'cp-1', labels: { ...OS, ...CONTROL_PLANE } },
    { name: 'w', labels: { ...OS, ...role('w') } },
  );
  const text = takes('all', '2 nodes, 1 of them in the control plane: cp-1');
  const selector = ['--node-selector', 'kubernetes.io/os=linux'];
  assert.deepEqual(await warned(['create', 'all', ...selector, '--label', 'tier=gold']), [0, text]);
  const [, diffed] = await warned(['diff', 'all']);
  assert.equal(diffed, text);
  assert.deepEqual(await warned(['reconcile', 'all']), [0, text]);
  assert.deepEqual(await warned(['reconcile', 'all']), [0, ''], 'they have joined');
  await testEnv.nodes({ name: 'cp-2', labels: { ...OS, ...CONTROL_PLANE } });
  const more = takes('all', '3 nodes, 2 of them in the control plane: cp-1, cp-2');
  assert.deepEqual(await warned(['reconcile', 'all']), [0, more]);
  await testEnv.delete(['all']);
  await testEnv.pool('w', { nodeSelector: { grp: 'w' } });
  assert.deepEqual(await warned(['edit', 'w', '--node-selector', 'kubernetes.io/os=linux,grp-', '--yes']), [
    0,
    takes('w', '3 nodes, 2 of them in the control plane: cp-1, cp-2'),
  ]);
  const named = ['create', 'cp', '--node-selector', `${Object.keys(CONTROL_PLANE)[0]}=`, '--dry-run=server'];
  assert.doesNotMatch((await warned(named))[1], /in the control plane/, 'they are named');
});

test('create --reconcile names the control-plane nodes of a selector with expressions once', async () => {
  await testEnv.nodes({ name: 'cp-1', labels: { ...OS, ...CONTROL_PLANE } });
  const [code, stderr] = await warned([
    'create',
    'all',
    '--node-selector',
    'kubernetes.io/os=linux,!spot',
    '--reconcile',
  ]);
  assert.deepEqual([code, stderr.match(/1 of them in the control plane/g)?.length], [0, 1], stderr);
});
