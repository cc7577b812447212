/** Consent to reconcile and to commands on nodes when the cluster changes meanwhile: see consent.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { STRICT, useConsent } from './consent.ts';
import { role } from './test-env.ts';

const { testEnv, pod, replace, busy, taints, relabel, remove, testRows } = useConsent();

testRows([
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
    title: 'drain asks again when a pod that needs a flag was replaced by another',
    args: ['drain', 'p', '--force'],
    prepare: async () => {
      await busy('a', role('p'));
      await testEnv.pool('p');
    },
    meanwhile: () => replace('on-a', 'database', 'a'),
    isAskedAgain: true,
  },
  {
    title: 'drain continues when a pod was replaced by another of its controller',
    args: ['drain', 'p', '--grace-period=0'],
    prepare: async () => {
      await testEnv.nodes({ name: 'a', labels: role('p') });
      await pod('web-1', 'a', 'web');
      await testEnv.pool('p');
    },
    meanwhile: () => replace('web-1', 'web-2', 'a', 'web'),
    ends: { code: 0, check: async () => assert.equal((await testEnv.node('a')).spec.unschedulable, true) },
  },
  {
    title: 'drain asks again when a node was replaced by another of its name',
    args: ['drain', 'p'],
    prepare: async () => {
      await testEnv.nodes({ name: 'a', labels: role('p') });
      await testEnv.pool('p');
    },
    meanwhile: async () => {
      await raw(testEnv.cluster()).expect('DELETE', '/api/v1/nodes/a');
      await testEnv.nodes({ name: 'a', labels: role('p') });
    },
    isAskedAgain: true,
  },
]);

test('a node that changes between plan and write gets no taint without consent', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  await testEnv.pool('p', { labels: { tier: 'p' } });
  await testEnv.pool('strict', { nodeSelector: { kind: 'strict' }, taints: STRICT });
  const connection = await testEnv.connection();
  const { agree } = await import('../../src/commands/shared/consent/consent.ts');
  const { reconcile } = await import('../../src/commands/shared/reconcile/apply.ts');
  const { proposeReconcile } = await import('../../src/commands/shared/reconcile/propose.ts');
  const agreed = await agree(
    () => proposeReconcile([], connection),
    async () => 'clear',
  );
  assert.ok(agreed);
  await relabel('a', { 'node-role.kubernetes.io/p': null, kind: 'strict' });
  const deps = { ...connection, now: () => new Date(), clock: systemClock, sleep: async () => {}, warn: () => {} };
  const summaries = await reconcile(agreed.proposal, { ...deps, concurrency: 4, consent: agreed.consent });
  const failures = summaries.flatMap(({ outcome }) => outcome?.failures ?? []);
  assert.match(
    failures[0]?.message ?? '',
    /node a was changed meanwhile and was not written: it would now get the taint strict:NoExecute/,
  );
  assert.deepEqual(await taints('a'), [[]]);
  assert.equal(((await testEnv.getPool('strict')) as NodePool).spec.taints?.length, 1);
});
