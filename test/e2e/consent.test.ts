/**
 * What a person agreed to is what is written: the cluster changes while the question is on the screen. Each command asks
 * on a real terminal, about pods that are on the nodes without a scheduler.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { scriptedEditor, stateOf } from './commands.ts';
import { openTerminal } from './terminal.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const TEST_MS = 120_000;
const testEnv = useTestEnv();
const { cluster } = testEnv;
const PODS = '/api/v1/namespaces/default/pods';
const api = () => raw(cluster());
const STRICT = [{ key: 'strict', effect: 'NoExecute' as const }];
const AGAIN = /The cluster has changed meanwhile:/;

/** @param replicaSet its controller, if any */
async function pod(name: string, node: string, replicaSet?: string): Promise<void> {
  const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: replicaSet, uid: 'u', controller: true };
  const metadata = { name, ...(replicaSet === undefined ? {} : { ownerReferences: [owner] }) };
  await api().expect('POST', PODS, { metadata, spec: { nodeName: node, containers } });
}

/** Deletes the pod and creates a replacement, as its ReplicaSet would. */
async function replace(name: string, by: string, node: string, replicaSet?: string): Promise<void> {
  await api().expect('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
  await pod(by, node, replicaSet);
}

/** A node with a pod on it. */
async function busy(name: string, labels: Record<string, string> = {}): Promise<void> {
  await testEnv.nodes({ name, labels });
  await pod(`on-${name}`, name);
}

const taints = async (...nodes: string[]) => (await Promise.all(nodes.map(testEnv.node))).map(taintsOf);
const relabel = (node: string, labels: Record<string, string | null>) =>
  testEnv.patchNode(node, { metadata: { labels } });
const remove = (pool: string) => api().expect('DELETE', `/apis/nodes.lailin.xyz/v1/nodepools/${pool}`);

interface Row {
  title: string;
  args: string[];
  prepare: () => Promise<unknown>;
  /** Runs while the question is on the screen. */
  meanwhile: () => Promise<unknown>;
  /** Asks again; after a no nothing may be written. */
  isAskedAgain?: boolean;
  /** Without a second question: how it ends. */
  ends?: { code: number; shows?: RegExp; check: () => Promise<unknown> };
  editor?: string;
}

const rows: Row[] = [
  {
    title: 'reconcile does not set a taint that was taken out of the pool',
    args: ['reconcile'],
    prepare: async () => {
      for (const node of ['a', 'b', 'c']) await busy(node, role('p'));
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => testEnv.edit('p', { spec: { taints: [] } }),
    ends: { code: 0, check: async () => assert.deepEqual(await taints('a', 'b', 'c'), [[], [], []]) },
  },
  {
    title: 'reconcile asks again when a node would get the taint of a pool that was not shown',
    args: ['reconcile'],
    prepare: async () => {
      await busy('a', role('p'));
      await busy('b', role('q'));
      await testEnv.pool('p', { taints: STRICT });
      await testEnv.pool('q');
    },
    meanwhile: () => testEnv.edit('q', { spec: { taints: [{ key: 'other', effect: 'NoExecute' }] } }),
    isAskedAgain: true,
  },
  {
    title: 'move leaves the node where it is when the other pool was deleted',
    args: ['move', 'a', '--to', 'q'],
    prepare: async () => {
      await busy('a', role('p'));
      await testEnv.pool('p', { labels: { tier: 'p' } });
      await testEnv.pool('q', { taints: STRICT });
      await testEnv.reconcile('p');
    },
    meanwhile: () => remove('q'),
    ends: {
      code: 1,
      shows: /nodepool.* "?q"? not found/,
      async check() {
        const { labels } = (await testEnv.node('a')).metadata;
        assert.deepEqual([labels.tier, 'node-role.kubernetes.io/p' in labels], ['p', true]);
      },
    },
  },
  {
    title: 'add asks again when a pod was added to the node',
    args: ['add', 'p', 'a'],
    prepare: async () => {
      await busy('a');
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => pod('late', 'a'),
    isAskedAgain: true,
  },
  {
    title: 'add continues when a pod was replaced by another of its controller',
    args: ['add', 'p', 'a'],
    prepare: async () => {
      await testEnv.nodes({ name: 'a' });
      await pod('web-1', 'a', 'web');
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => replace('web-1', 'web-2', 'a', 'web'),
    ends: { code: 0, check: async () => assert.deepEqual(await taints('a'), [['strict:NoExecute']]) },
  },
  {
    title: 'add asks again when a pod without a controller was replaced by another of its name',
    args: ['add', 'p', 'a'],
    prepare: async () => {
      await busy('a');
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => replace('on-a', 'on-a', 'a'),
    isAskedAgain: true,
  },
  {
    title: 'add asks again when the pod that replaced another is of another controller',
    args: ['add', 'p', 'a'],
    prepare: async () => {
      await testEnv.nodes({ name: 'a' });
      await pod('web-1', 'a', 'web');
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => replace('web-1', 'web-new-1', 'a', 'web-new'),
    isAskedAgain: true,
  },
  {
    title: 'add asks again when the pool was changed to unmanaged: Remove',
    args: ['add', 'p', 'a'],
    prepare: async () => {
      await busy('a', { mine: '1' });
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => testEnv.edit('p', { spec: { unmanaged: 'Remove' } }),
    isAskedAgain: true,
  },
  {
    title: 'reconcile asks again when a node gained a label that the pool would remove',
    args: ['reconcile'],
    prepare: async () => {
      await busy('a', { ...role('p'), mine: '1' });
      await testEnv.pool('p', { taints: STRICT, unmanaged: 'Remove' });
    },
    meanwhile: () => relabel('a', { theirs: '2' }),
    isAskedAgain: true,
  },
  {
    title: 'move asks again when another node would get the taint, even if no pod is on it',
    args: ['move', '-l', 'pick=1', '--to', 'p'],
    prepare: async () => {
      await busy('a', { pick: '1' });
      await testEnv.nodes({ name: 'empty' });
      await testEnv.pool('p', { taints: STRICT });
    },
    meanwhile: () => relabel('empty', { pick: '1' }),
    isAskedAgain: true,
  },
  {
    title: 'remove asks again when the next owner gained a taint that the node would get',
    args: ['remove', 'p', 'a'],
    prepare: async () => {
      await busy('a', { ...role('p'), kind: 'big' });
      await testEnv.pool('p');
      await testEnv.pool('big', { nodeSelector: { kind: 'big' }, taints: STRICT }, { younger: true });
      await testEnv.reconcile();
    },
    meanwhile: () => testEnv.edit('big', { spec: { taints: [...STRICT, { key: 'more', effect: 'NoExecute' }] } }),
    isAskedAgain: true,
  },
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
      shows: /nodepool p was deleted and made anew meanwhile/,
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
    title: 'drain asks again when a pod was added',
    args: ['drain', 'p', '--force'],
    prepare: async () => {
      await busy('a', role('p'));
      await testEnv.pool('p');
    },
    meanwhile: () => pod('late', 'a'),
    isAskedAgain: true,
  },
  {
    title: 'uninstall --cascade asks again when a pool was added',
    args: ['uninstall', '--cascade'],
    prepare: () => testEnv.pool('p'),
    meanwhile: () => testEnv.pool('q'),
    isAskedAgain: true,
  },
];

for (const { title, args, prepare, meanwhile, isAskedAgain, ends, editor } of rows) {
  test(title, { timeout: TEST_MS }, async t => {
    t.after(async () => {
      const { items } = (await api().expect('GET', PODS)) as { items: { metadata: { name: string } }[] };
      for (const { metadata } of items) await api().expect('DELETE', `${PODS}/${metadata.name}?gracePeriodSeconds=0`);
    });
    await prepare();
    const env =
      editor === undefined ? {} : { KUBE_EDITOR: await scriptedEditor(cluster(), `consent-${rows.length}`, editor) };
    const terminal = openTerminal(t, cluster(), args, { columns: 160, rows: 60, env: { NO_COLOR: '1', ...env } });
    await terminal.shows(/\[y\/N\]/);
    await meanwhile();
    const before = await stateOf(cluster());
    terminal.type('y{enter}');
    if (isAskedAgain) {
      await terminal.shows(new RegExp(`${AGAIN.source}[^]*\\[y/N\\]`));
      terminal.type('n{enter}');
      assert.equal((await terminal.exit).exitCode, 1, terminal.screen());
      assert.deepEqual(await stateOf(cluster()), before, 'a no writes nothing');
      return;
    }
    assert.equal((await terminal.exit).exitCode, ends?.code, terminal.screen());
    assert.doesNotMatch(terminal.screen(), AGAIN);
    if (ends?.shows !== undefined) assert.match(terminal.screen(), ends.shows);
    await ends?.check();
  });
}

test('a node that changes between plan and write gets no taint without consent', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  await testEnv.pool('p', { labels: { tier: 'p' } });
  await testEnv.pool('strict', { nodeSelector: { kind: 'strict' }, taints: STRICT });
  const connection = await testEnv.connection();
  const { agree } = await import('../../src/operations/consent.ts');
  const { proposeReconcile, reconcile } = await import('../../src/operations/reconcile.ts');
  const agreed = await agree(
    () => proposeReconcile([], connection),
    async () => 'clear',
  );
  assert.ok(agreed);
  await relabel('a', { 'node-role.kubernetes.io/p': null, kind: 'strict' });
  const deps = { ...connection, now: () => new Date(), clock: systemClock, sleep: async () => {}, warn: () => {} };
  const options = { concurrency: 4, dryRun: false, consent: agreed.consent };
  const summaries = await reconcile(agreed.proposal, options, deps);
  const failures = summaries.flatMap(({ outcome }) => outcome?.failures ?? []);
  assert.match(failures[0]?.message ?? '', /node a was changed meanwhile and would now get the taint strict:NoExecute/);
  assert.deepEqual(await taints('a'), [[]]);
  assert.equal(((await testEnv.getPool('strict')) as NodePool).spec.taints?.length, 1);
});
