/** `reconcile --watch` sets taints with the effect NoExecute without a question. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();

test('warns in the log before it sets a NoExecute taint, once for all nodes', async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('one') });
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.pool('one', { taints: [{ key: 'team', value: 'ml', effect: 'NoExecute' }] });
  await eventually('both nodes have it', () => /200 Normal, 2 of 2 nodes/.test(watching.log()));
  const lines = watching.log().split('\n');
  const warnings = lines.filter(line => line.includes('NoExecute') && line.includes(' warning '));
  assert.equal(warnings.length, 1, watching.log());
  assert.match(
    warnings[0] ?? '',
    /one: setting taint team=ml:NoExecute on nodes, first on [ab]: .*PodDisruptionBudgets/,
  );
  assert.ok(lines.indexOf(warnings[0] ?? '') < lines.findIndex(line => line.includes('joined')));
});
