/** Workloads without pods that no node would take because of a taint. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod } = poolsWithPods(testEnv);
const CRON_JOBS = '/apis/batch/v1/namespaces/default/cronjobs';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const labels = { app: 'x' };

const specOf = (more: object) => ({ containers: [{ name: 'c', image: 'i' }], ...more });
const deployment = (name: string, more: object) =>
  raw(cluster()).expect('POST', DEPLOYMENTS, {
    metadata: { name },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: specOf(more) } },
  });
const cronJob = (name: string, more: object) =>
  raw(cluster()).expect('POST', CRON_JOBS, {
    metadata: { name },
    spec: {
      schedule: '0 0 1 1 *',
      jobTemplate: { spec: { template: { spec: specOf({ restartPolicy: 'Never', ...more }) } } },
    },
  });

test('names a CronJob between two runs and a Deployment without replicas that no node accepts after a new taint', async t => {
  t.after(() => Promise.all([CRON_JOBS, DEPLOYMENTS].map(path => raw(cluster()).expect('DELETE', path))));
  const gpu = { key: 'gpu', effect: 'NoSchedule' } as const;
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', taints: [gpu] });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
  const tolerates = { tolerations: [{ operator: 'Exists' }] };
  await cronJob('report', {});
  await cronJob('patient', tolerates);
  await deployment('idle', { nodeSelector: { tier: 'web' } });
  await deployment('elsewhere', { nodeSelector: { tier: 'no' } });
  await deployment('gpu', { tolerations: [{ key: 'gpu', operator: 'Exists' }] });
  await deployment('runs', {});
  await pod({ name: 'runs-1', node: 'a', owner: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'runs' } });
  await testEnv.edit('web', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(
    stdout,
    /^\+ taint k:NoSchedule on 1 node\n.*runs .*\n {2}no node accepts new pods of CronJob default\/report, Deployment default\/idle$/m,
  );
  const json = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json']);
  assert.deepEqual(JSON.parse(json.stdout).impact.keys[0].shutOut, [
    { kind: 'CronJob', namespace: 'default', name: 'report' },
    { kind: 'Deployment', namespace: 'default', name: 'idle' },
  ]);
  await testEnv.edit('web', { spec: { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] } });
  const soft = await cliHere(cluster(), ['diff', 'web', '--impact', '-v', '6']);
  assert.doesNotMatch(soft.stdout, /no node accepts/);
  assert.doesNotMatch(soft.stderr, /cronjobs/);
});
