/** The label nodes.lailin.xyz/pool on nodes of pools with expressions, and on nodes where somebody else set the label. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const POOL = 'nodes.lailin.xyz/pool';
const sized = (operator: string, ...values: string[]) => [{ key: 'size', operator, values }];
const poolOf = async (node: string) => (await testEnv.node(node)).metadata.labels[POOL];
const label = (node: string, labels: Record<string, string | null>) =>
  testEnv.patchNode(node, { metadata: { labels } });

test('removes the pool label when a node leaves, after any foreign changes', async () => {
  const names = ['lost', 'taken', 'moved', 'drifted'];
  await testEnv.nodes(...names.map(name => ({ name, labels: { size: '8' } })));
  await label('taken', { [POOL]: 'other' });
  await testEnv.pool('big', { matchExpressions: sized('Gt', '4') });
  await testEnv.pool('small', { matchExpressions: sized('Lt', '4') }, { younger: true });
  await testEnv.reconcile();
  assert.deepEqual(await Promise.all(names.map(poolOf)), ['big', 'big', 'big', 'big']);

  await testEnv.patchNode('lost', { metadata: { annotations: { 'nodes.lailin.xyz/applied': null } } });
  await testEnv.reconcile();
  await label('moved', { size: '2' });
  await testEnv.reconcile();
  assert.equal(await poolOf('moved'), 'small');
  await label('drifted', { [POOL]: 'other', size: null });
  for (const name of ['lost', 'taken', 'moved']) await label(name, { size: null });
  await testEnv.reconcile();
  for (const name of names) {
    const { labels, annotations = {} } = (await testEnv.node(name)).metadata;
    assert.deepEqual([labels[POOL], annotations['nodes.lailin.xyz/applied']], [undefined, undefined], name);
  }
});

test('keeps a pool label that no pool has set, and doctor and nodes --why name it', async () => {
  await testEnv.nodes({ name: 'member', labels: { size: '8' } }, { name: 'forged' });
  await testEnv.pool('big', { matchExpressions: sized('Gt', '4'), handler: 'runc' });
  await testEnv.reconcile();
  await label('forged', { [POOL]: 'big' });
  assert.equal((await unchanged(['reconcile'])).code, 0);
  assert.equal(await poolOf('forged'), 'big');
  const next = 'remove it: `kubectl label node forged nodes.lailin.xyz/pool-`';
  assert.match(
    await ok(['nodes', '--why', 'forged']),
    new RegExp(`^! no pool set the label ${POOL}=big on this node; next: ${next}$`, 'm'),
  );
  assert.doesNotMatch(await ok(['nodes', '--why', 'member']), /no pool set/);
  const { checks } = JSON.parse((await cliHere(cluster(), ['doctor', '-o', 'json'])).stdout);
  const { status, details, remedy } = checks.find(({ id }: { id: string }) => id === 'runtime-classes');
  assert.deepEqual([status, details], ['warning', [`${POOL}=big: forged`]]);
  assert.equal(remedy, next.replace('forged', 'NODE'));
  await label('forged', { [POOL]: null });
  assert.doesNotMatch((await cliHere(cluster(), ['doctor'])).stdout, /but no pool set it/);
});

test('create and doctor warn that a kubelet may attract pods of the RuntimeClass', async () => {
  const flags = ['--node-selector', 'node-role.kubernetes.io/big', '--handler', 'runc'];
  const risk =
    'has a RuntimeClass that selects by nodes.lailin.xyz/pool; kubelets can set these labels on their own node and so attract its pods';
  const { code, stderr } = await cliHere(cluster(), ['create', 'big', ...flags]);
  assert.deepEqual(
    [
      code,
      stderr.includes(`warning: pool big ${risk}; next: run \`kubectl nodepool install --policies\` once per cluster`),
    ],
    [0, true],
    stderr,
  );
  const membership = async () => {
    const { checks } = JSON.parse((await cliHere(cluster(), ['doctor', '-o', 'json'])).stdout);
    return checks.find(({ id }: { id: string }) => id === 'membership');
  };
  const { status, message, details } = await membership();
  assert.deepEqual(
    [status, message, details],
    ['warning', 'RuntimeClasses of pools select by labels that kubelets can set', [`big ${risk}`]],
  );
  // The second one bounds what a registration may contain.
  for (const policy of ['protect-membership', 'protect-records'])
    await kubectl(cluster(), ['apply', '-f', `manifests/${policy}.yaml`]);
  assert.equal((await membership()).status, 'ok');
  assert.equal((await cliHere(cluster(), ['create', 'other', ...flags])).stderr.includes('RuntimeClass'), false);
});
