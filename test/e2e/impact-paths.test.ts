/** `diff --impact-path` that is misspelt, and Jobs of one CronJob. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod } = poolsWithPods(testEnv);
const POOLS = 'nodepools.nodes.lailin.xyz';

test('--impact-path fails for a resource that is not served, and warns about a field that no object has', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const diff = (path: string) => cliHere(cluster(), ['diff', 'web', '--impact', '--impact-path', path]);
  for (const change of [{}, { tier: 'silver' }]) {
    await testEnv.edit('web', { spec: { labels: change } });
    const wrong = await diff('nodepoolz.nodes.lailin.xyz:.spec.nodeSelector');
    assert.equal(wrong.code, 2, wrong.stderr);
    assert.match(
      wrong.stderr,
      /^error: --impact-path: "nodepoolz\.nodes\.lailin\.xyz:\.spec\.nodeSelector": the server does not serve the resource nodepoolz/m,
    );
    const unset = await diff(`${POOLS}:.spec.labelz`);
    assert.match(unset.stderr, /^warning: --impact-path: "\S+": no NodePool has the field \.spec\.labelz$/m);
    const right = await diff(`${POOLS}:.spec.labels`);
    assert.equal(right.stderr, '');
  }
  const { stdout: unnamed } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(
    unnamed,
    /\n\nImpact: none found\nNot checked: other fields of custom resources \(diff --impact-path\)\n$/,
  );
  const { stdout } = await diff(`${POOLS}:.spec.labels`);
  assert.doesNotMatch(stdout, /Custom resources/);
  assert.match(stdout, /selected by NodePool web \(\.spec\.labels\)/);
});

test('names every field of a custom resource that contains the label', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'gold' }, annotations: { tier: 'x' } });
  const paths = ['labels', 'annotations', 'labels'].flatMap(field => ['--impact-path', `${POOLS}:.spec.${field}`]);
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact', ...paths]);
  assert.match(stdout, /selected by NodePool web \(\.spec\.labels, \.spec\.annotations\)/);
  const env = { KUBECTL_NODEPOOL_IMPACT_PATHS: `${POOLS}:.spec.labels, ${POOLS}:.spec.annotations,\n` };
  const ofEnv = await cliHere(cluster(), ['diff', 'web', '--impact'], { env });
  assert.equal(ofEnv.stdout, stdout, ofEnv.stderr);
});

test('pods of all Jobs of a CronJob share one line', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { taints: [{ key: 'k', effect: 'NoSchedule' }] });
  for (const at of [1, 2]) {
    const name = `audit-${at}`;
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'CronJob', name: 'audit', uid: 'u', controller: true }];
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    await raw(cluster()).expect('POST', jobs, { metadata: { name, ownerReferences }, spec: { template } });
    await pod({ name: `${name}-x`, node: 'a', owner: { apiVersion: 'batch/v1', kind: 'Job', name } });
  }
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(stdout, /^ {2}2 pods of CronJob default\/audit keep running/m);
  assert.match(
    stdout,
    /^ {2}2 pods of CronJob default\/audit: none fits elsewhere; 2 would stay Pending: 1 node\(s\) had untolerated taint\(s\); pods of the next run also would$/m,
  );
});
