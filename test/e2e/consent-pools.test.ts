/** Consent to commands on pools when the cluster changes meanwhile: see consent.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { stateOf } from './commands.ts';
import { STRICT, useConsent } from './consent.ts';
import { openTerminal } from './terminal.ts';
import { role } from './test-env.ts';

const { testEnv, pod, busy, taints, relabel, remove, testRows } = useConsent();
const PODS = '/api/v1/namespaces/default/pods';
const api = () => raw(testEnv.cluster());

testRows([
  {
    title: 'edit asks again when nodes joined and somebody else wrote the pool',
    args: ['edit', 'p', '--taint', 'strict:NoExecute'],
    prepare: async () => {
      await busy('a', role('p'));
      for (const node of ['b', 'c']) await busy(node);
      await testEnv.pool('p');
    },
    async meanwhile() {
      for (const node of ['b', 'c']) await relabel(node, role('p'));
      await testEnv.edit('p', { metadata: { annotations: { note: 'theirs' } } });
    },
    isAskedAgain: true,
  },
  {
    title: 'edit does not change a pool that was recreated under the same name',
    args: ['edit', 'p', '--taint', 'strict:NoExecute'],
    prepare: async () => {
      await busy('a', role('p'));
      await testEnv.pool('p');
    },
    async meanwhile() {
      await remove('p');
      await testEnv.pool('p', { labels: { theirs: 'x' } });
    },
    ends: {
      code: 1,
      shows: /somebody else deleted and recreated pool p/,
      check: async () => assert.deepEqual((await testEnv.getPool('p'))?.spec, { labels: { theirs: 'x' } }),
    },
  },
  {
    title: 'edit in the editor asks again when nodes joined',
    args: ['edit', 'p'],
    editor: `printf 'apiVersion: nodes.lailin.xyz/v1\\nkind: NodePool\\nmetadata:\\n  name: p\\nspec:\\n  taints:\\n  - {key: strict, effect: NoExecute}\\n' > $f`,
    prepare: async () => {
      await busy('a', role('p'));
      await busy('b');
      await testEnv.pool('p');
    },
    meanwhile: () => relabel('b', role('p')),
    isAskedAgain: true,
  },
  {
    title: 'create asks again when a pod was added to a future member',
    args: ['create', 'fresh', '--taint', 'strict:NoExecute', '--nodes', 'a', '--reconcile'],
    prepare: () => busy('a'),
    meanwhile: () => pod('late', 'a'),
    isAskedAgain: true,
  },
  {
    title: 'create asks about a taint of another pool that its labels lead to, and again when a pod was added',
    args: ['create', 'fresh', '--node-selector', 'team=a', '--node-selector', 'extra=1', '--nodes', 'a'],
    prepare: async () => {
      await busy('a');
      await testEnv.pool('b', { nodeSelector: { team: 'a' }, taints: STRICT });
    },
    meanwhile: () => pod('late', 'a'),
    isAskedAgain: true,
  },
  {
    title: 'adopt asks again when a pool would set another label',
    args: ['adopt', '--label', 'team', '--create'],
    prepare: () => testEnv.nodes({ name: 'a', labels: { team: 'red' } }, { name: 'b', labels: { team: 'blue' } }),
    meanwhile: () => relabel('a', { 'example.com/late': 'yes' }),
    isAskedAgain: true,
  },
  {
    title: 'delete asks again when a node joined',
    args: ['delete', 'p'],
    prepare: async () => {
      await testEnv.nodes({ name: 'a', labels: role('p') }, { name: 'b' });
      await testEnv.pool('p', { labels: { tier: 'p' } });
      await testEnv.reconcile();
    },
    meanwhile: () => relabel('b', role('p')),
    isAskedAgain: true,
  },
  {
    title: 'delete --detach-nodes asks about the plan that it carries out',
    args: ['delete', 'p', '--detach-nodes'],
    prepare: async () => {
      await busy('a', role('p'));
      await testEnv.pool('p', { labels: { tier: 'p' } });
      await testEnv.pool('b', { nodeSelector: role('p'), taints: STRICT }, { younger: true });
      await testEnv.reconcile();
    },
    meanwhile: async () => {},
    // Without its label the node joins no other pool, so no pod is evicted.
    ends: { code: 0, check: async () => assert.deepEqual(await taints('a'), [[]]) },
  },
  {
    title: 'delete continues when a node left',
    args: ['delete', 'p'],
    prepare: async () => {
      await testEnv.nodes({ name: 'a', labels: role('p') }, { name: 'b', labels: role('p') });
      await testEnv.pool('p', { labels: { tier: 'p' } });
      await testEnv.reconcile();
    },
    meanwhile: () => api().expect('DELETE', '/api/v1/nodes/b'),
    ends: { code: 0, check: async () => assert.equal(await testEnv.getPool('p'), undefined) },
  },
  {
    title: 'uninstall --cascade asks again when a pool was added',
    args: ['uninstall', '--cascade'],
    prepare: () => testEnv.pool('p'),
    meanwhile: () => testEnv.pool('q'),
    isAskedAgain: true,
  },
]);

test('edit --reconcile asks about a node that leaves since the edit was saved', { timeout: 120_000 }, async t => {
  await testEnv.nodes({ name: 'a', labels: { grp: 'p', kind: 'big' } });
  await testEnv.pool('p', { nodeSelector: { grp: 'p' }, handler: 'runc' });
  await testEnv.reconcile();
  const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
  const spec = { nodeName: 'a', runtimeClassName: 'node-pool-p', containers };
  await api().expect('POST', PODS, { metadata: { name: 'user' }, spec });
  t.after(() => api().expect('DELETE', `${PODS}/user?gracePeriodSeconds=0`));
  // The edit does not remove the handler: the first question is that of the reconcile.
  await testEnv.edit('p', { spec: { handler: null } });
  const args = ['edit', 'p', '--node-selector', 'kind=big', '--reconcile'];
  const terminal = openTerminal(t, testEnv.cluster(), args, { columns: 160, rows: 60, env: { NO_COLOR: '1' } });
  // The terminal breaks the lines.
  const textOf = (screen: string) => screen.replaceAll(/\s+/g, ' ').trim();
  const asked = 'Reconcile pool p in context nodepool-demo:';
  const loss =
    'RuntimeClass node-pool-p would be deleted, but 1 workload names it: Pod default/user. Running pods stay; the server would reject new pods until runtimeClassName is removed from the pod template? [y/N]';
  const first = await terminal.shows(/\[y\/N\]/);
  assert.equal(textOf(first), `nodepool.nodes.lailin.xyz/p edited ${asked} ${loss}`);
  await relabel('a', { kind: null });
  const before = await stateOf(testEnv.cluster());
  terminal.type('y{enter}');
  const second = textOf(await terminal.shows(/The cluster has changed meanwhile:[\s\S]*\[y\/N\]/));
  const again = `The cluster has changed meanwhile: ${asked} 1 node (a) would leave pool p; ${loss}`;
  assert.equal(second.slice(-again.length), again);
  terminal.type('n{enter}');
  assert.equal((await terminal.exit).exitCode, 1, terminal.screen());
  assert.deepEqual(await stateOf(testEnv.cluster()), before, 'a no writes nothing');
});
