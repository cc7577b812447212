/** `noExecute: Drain`: one-shot commands, from the stand-in to the taint, and their warnings. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../src/nodepool/plan/record.ts';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { DONE, nodesToDrain, SPEC, STAND_IN, TAINT, WEB } from './no-execute.ts';
import { condition, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const pods = poolsWithPods(testEnv);
const { audited, evictions, nodes, pod, reconcile, taints } = nodesToDrain(testEnv, pods);

test('one-shot: sets the stand-in taint, evicts pods, then sets the NoExecute taint', async () => {
  await nodes('a', 'b');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pod('q', 'b');
  await pod('tolerates', 'b', { tolerations: [{ ...TAINT, operator: 'Equal' }] });
  await pods.budget('web', WEB, 1);
  const { code, stdout, stderr } = await reconcile();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^web {2}Ready {2}2 nodes \(2 joined(, 2 updated)?\)/);
  const lines = stderr.split('\n');
  for (const line of ['evicting pod default/p', 'pod default/p evicted', 'evicting pod default/q'])
    assert.ok(lines.includes(line), stderr);
  assert.match(stderr, /^2 pods are evicted from 2 nodes before NoExecute taints are set there:$/m);
  assert.match(stderr, /^The pool has noExecute: Drain: the Eviction API evicts the pods before the taints/m);
  assert.deepEqual(await taints('a', 'b'), [DONE, DONE]);
  assert.deepEqual(await pods.names(), ['tolerates']);
  const record = parseRecord((await testEnv.node('a')).metadata.annotations?.[RECORD_ANNOTATION]);
  assert.deepEqual([[...(record?.taints.keys() ?? [])], record?.draining], [['dedicated:NoExecute'], undefined]);
  assert.equal(await ok(['diff']), '');
});

test('a script needs --yes, and diff and dry runs only print the steps', async () => {
  await nodes('a');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a');
  const refused = await unchanged(['reconcile', 'web']);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /1 pod is evicted from 1 node before NoExecute taints .*; nothing was changed; next: .*--yes/,
  );
  const diff = await unchanged(['diff']);
  assert.equal(diff.code, 1);
  assert.match(
    diff.stdout,
    /^node a \(joins pool web\)\n {2}\+ taint dedicated=x:NoSchedule {2}\(spec\)\n {2}\+ taint dedicated=x:NoExecute {2}\(spec\), after its pods are evicted\n {2}- taint dedicated=x:NoSchedule {2}\(spec\), replaced by NoExecute$/m,
  );
  const since = await audited();
  for (const how of ['client', 'server']) {
    const { code, stdout } = await unchanged(['reconcile', 'web', `--dry-run=${how}`]);
    assert.equal(code, 0);
    assert.match(stdout, /\+ taint dedicated=x:NoSchedule[\s\S]*^web {2}\w+ .*\(1 joined.*dry run/m, how);
  }
  assert.deepEqual([await evictions(since), await pods.names()], [[], ['p']]);
});

test('without permission to evict, sets no NoExecute taint, and names the permission', async () => {
  await nodes('a');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a');
  const rules = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools', 'nodepools/status'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['list', 'get'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  ] as const;
  const [first, ...others] = rules.map(rule => ({
    apiGroups: [...rule.apiGroups],
    resources: [...rule.resources],
    verbs: [...rule.verbs],
  }));
  assert.ok(first !== undefined);
  const kubeconfig = await userWith(cluster(), 'no-evictions', [first, ...others]);
  const { code, stderr } = await cliHere(cluster(), ['reconcile', 'web', '--yes', '--kubeconfig', kubeconfig]);
  assert.equal(code, 1);
  assert.match(stderr, /pods\/eviction/);
  assert.deepEqual(await taints('a'), [STAND_IN]);
  const pool = await testEnv.getPool('web');
  assert.deepEqual([pool?.status?.status, condition(pool, 'Applied').reason], [500, 'WriteFailed']);
  assert.equal((await reconcile()).code, 0);
});

test('edit --reconcile, add and a new taint value drain nodes', async () => {
  await nodes('a');
  await testEnv.nodes({ name: 'joins' });
  await testEnv.pool('web');
  await testEnv.reconcile();
  await pod('p', 'a');
  const flags = ['--taint', 'dedicated=x:NoExecute', '--noexecute', 'Drain', '--reconcile', '--yes'];
  const edited = await cliHere(cluster(), ['edit', 'web', ...flags]);
  assert.equal(edited.code, 0, edited.stderr);
  assert.match(edited.stderr, /^pod default\/p evicted$/m);
  assert.deepEqual(await taints('a'), [DONE]);

  await pod('q', 'joins');
  const added = await cliHere(cluster(), ['add', 'web', 'joins', '--yes']);
  assert.equal(added.code, 0, added.stderr);
  assert.match(added.stderr, /^pod default\/q evicted$/m);
  assert.equal(added.stdout, 'node/joins added to pool web\n');
  assert.deepEqual(await taints('joins'), [DONE]);

  await pod('old', 'a', { tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'x' }] });
  assert.equal((await cliHere(cluster(), ['edit', 'web', '--taint', 'dedicated=y:NoExecute', '--yes'])).code, 0);
  assert.deepEqual(await pods.names(), ['old']);
  assert.equal((await reconcile()).code, 0);
  assert.deepEqual(
    [await taints('a', 'joins'), await pods.names()],
    [['dedicated=y:NoExecute', 'dedicated=y:NoExecute'], []],
  );
});
