/** Uninstalling when deleted pools left records on nodes. The command's output: command-install.test.ts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCrd } from '../../src/cli/manifests.ts';
import type { ConsentAnswer } from '../../src/commands/shared/consent/consent.ts';
import { uninstall } from '../../src/commands/uninstall/run.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { container, createPods, deletePods } from './many-pods.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { refused, unchanged } = commandsOf(testEnv.cluster);

const CRD = 'customresourcedefinition.apiextensions.k8s.io "nodepools.nodes.lailin.xyz"';

/** Pool a was removed without its finalizer, and nodes m and n keep what it applied; pool b exists. */
async function orphans(): Promise<void> {
  await testEnv.nodes({ name: 'm', labels: role('a') }, { name: 'n', labels: role('a') });
  await testEnv.pool('a', { labels: { p: 'a' }, taints: [{ key: 'd', effect: 'NoSchedule' }] });
  await testEnv.reconcile();
  await testEnv.edit('a', { metadata: { finalizers: [] } });
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/a');
}

test('refuses while nodes have records of deleted pools, with their number and the next step', async () => {
  await orphans();
  const nodes = '2 nodes still have labels or taints of deleted pools: a';
  await refused(
    ['uninstall', '--yes'],
    1,
    `error: ${nodes}; next: release the nodes with \`kubectl nodepool reconcile\`, or add --cascade`,
  );
  await testEnv.pool('b');
  await refused(
    ['uninstall', '--yes'],
    1,
    `error: 1 pool exists: b; ${nodes}; next: first delete the pools, or add --cascade to release their nodes and delete them`,
  );
  const said = `nodepool.nodes.lailin.xyz "b" deleted (dry run)\n2 nodes of deleted pool "a" released (dry run)\n${CRD} deleted (dry run)\n`;
  const { code, stdout, stderr } = await unchanged(['uninstall', '--cascade', '--dry-run']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^leaves pool a: 2 nodes \(m, n\)\n {2}- label p=a {2}\(left the pool\)\n/);
  assert.ok(stdout.endsWith(`\n\n${said}`), stdout);
});

test('warns about a displaced NoExecute taint that would be restored', async t => {
  const noExecute = (value: string) => ({ key: 'd', value, effect: 'NoExecute' as const });
  await testEnv.nodes(...['m', 'n'].map(name => ({ name, labels: role(name), taints: [noExecute('theirs')] })));
  for (const name of ['m', 'n']) await testEnv.pool(name, { taints: [noExecute('ours')] });
  await testEnv.reconcile();
  await testEnv.edit('m', { metadata: { finalizers: [] } });
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/m');
  t.after(() => deletePods(testEnv.cluster()));
  const spec = { containers: [container('c', {})], tolerations: [{ key: 'd', value: 'ours' }] };
  for (const name of ['m', 'n']) await createPods(testEnv.cluster(), name, [{ name: 'web', spec }]);
  const reported = /^NoExecute taints evict 2 pods at once from 2 nodes:\n.*\nm .*m-web\nn .*n-web\n/;
  const dry = await unchanged(['uninstall', '--cascade', '--dry-run']);
  assert.equal(dry.code, 0);
  assert.match(dry.stderr, reported);
  await refused(
    ['uninstall', '--cascade'],
    1,
    /^error: 1 pool would be deleted: n; NoExecute taints evict 2 pods at once from 2 nodes \(m, n\): .*; nothing was changed; /,
  );
});

test('does not delete a CRD that was recreated after it was read', async () => {
  const { object } = await readCrd(fileURLToPath(new URL('../../', import.meta.url)));
  const connection = await testEnv.connection();
  const { crd } = connection;
  const releasing = () => assert.fail('there is nothing to release');
  const stoppable = (work: (signal: AbortSignal) => Promise<void>) => work(new AbortController().signal);
  const approve = async (): Promise<ConsentAnswer> => {
    await crd.delete((await crd.get()) ?? {});
    await crd.waitUntilGone(30_000);
    await crd.apply(object);
    await crd.waitUntilEstablished(30_000);
    return 'clear';
  };
  await assert.rejects(
    uninstall(
      {
        cascade: false,
        controller: [],
        bornInPool: [],
        policies: [],
        dryRun: 'none',
        timeoutMs: 30_000,
      },
      { ...connection, releasing, stoppable, approve, actionOf: () => '' },
    ),
    /was deleted and recreated meanwhile/,
  );
  const kept = (await crd.get()) as { metadata: { deletionTimestamp?: string } } | undefined;
  assert.deepEqual([kept === undefined, kept?.metadata.deletionTimestamp], [false, undefined]);
});

test('--cascade also releases nodes of deleted pools', async () => {
  await orphans();
  await testEnv.pool('b');
  const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['uninstall', '--cascade', '--yes']);
  const said = `nodepool.nodes.lailin.xyz "b" deleted\n2 nodes of deleted pool "a" released\n${CRD} deleted\n`;
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: said, stderr: '' });
  for (const name of ['m', 'n']) {
    const node = await testEnv.node(name);
    assert.deepEqual(['p' in node.metadata.labels, taintsOf(node)], [false, []]);
    assert.equal(node.metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
  }
});
