/** What an eviction means to a Job: `diff --impact` against the Job controller. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const PODS = '/api/v1/namespaces/default/pods';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const DISRUPTED = [{ type: 'DisruptionTarget', status: 'True' }];

/** On the node with the taint and another one. */
const APART = {
  tolerations: [{ key: 'other', operator: 'Exists' }],
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { 'job-name': 'wide' } } },
      ],
    },
  },
};

interface LivePod {
  metadata: { name: string; labels: Record<string, string>; deletionTimestamp?: string };
  spec: { nodeName?: string };
}

describe('evictions of Jobs', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());

  test('a Job that allows no more failures fails after an eviction, and other Jobs create a new pod', {
    timeout: 180_000,
  }, async t => {
    await testEnv.nodes(
      { name: 'w-1', labels: role('web') },
      { name: 'other-1', labels: { other: 'yes' }, taints: [{ key: 'other', effect: 'NoSchedule' }] },
      { name: 'free-1', labels: { free: 'yes' }, unschedulable: true },
    );
    await testEnv.pool('web');
    const jobs: Record<string, object> = {
      coded: {
        backoffLimit: 1,
        podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [143] } }] },
      },
      indexed: { completionMode: 'Indexed', completions: 1, backoffLimitPerIndex: 1 },
      wide: { backoffLimit: 0, parallelism: 2, completions: 2 },
      none: { backoffLimit: 0 },
      ignored: { backoffLimit: 0, podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: DISRUPTED }] } },
      failing: { podFailurePolicy: { rules: [{ action: 'FailJob', onPodConditions: DISRUPTED }] } },
      usual: {},
    };
    for (const [name, more] of Object.entries(jobs)) {
      const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
      const spec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, containers };
      const template = { spec: { ...spec, ...(name === 'wide' ? APART : {}) } };
      await api().expect('POST', JOBS, { metadata: { name }, spec: { ...more, template } });
    }
    t.after(() => api().expect('DELETE', `${JOBS}?propagationPolicy=Background`));
    const on = async (node: string) => {
      const { items } = (await api().expect('GET', PODS)) as { items: LivePod[] };
      const there = items.filter(
        ({ metadata, spec }) => spec.nodeName === node && metadata.deletionTimestamp === undefined,
      );
      return there.map(({ metadata }) => metadata.labels['job-name']).toSorted();
    };
    /** As a kubelet: a Job waits for that where it has a podFailurePolicy. */
    const endTerminating = async () => {
      const { items } = (await api().expect('GET', PODS)) as { items: LivePod[] };
      for (const { metadata } of items) {
        if (metadata.deletionTimestamp === undefined) continue;
        await api().request('PATCH', `${PODS}/${metadata.name}/status`, { status: { phase: 'Failed' } });
      }
    };
    await eventually('all run', async () => (await on('w-1')).length === 7 && `${await on('other-1')}` === 'wide');
    await api().expect('PATCH', '/api/v1/nodes/free-1', { spec: { unschedulable: null } });
    const pool = '/apis/nodes.lailin.xyz/v1/nodepools/web';
    await api().expect('PATCH', pool, { spec: { taints: [{ key: 'dedicated', effect: 'NoExecute' }] } });

    const { stdout } = await cliHere(testEnv.cluster(), ['diff', '--impact']);
    const lost = 'is not recreated: an eviction counts as a failed pod, and its Job allows no more of them';
    for (const [name, next] of [
      ['coded', 'can go: 1 on node free-1 (no pool)'],
      ['failing', lost],
      ['ignored', 'can go: 1 on node free-1 (no pool)'],
      ['indexed', 'can go: 1 on node free-1 (no pool)'],
      ['none', lost],
      ['usual', 'can go: 1 on node free-1 (no pool)'],
      ['wide', `${lost}; the Job fails, and its other pod is deleted`],
    ]) {
      assert.ok(stdout.includes(`1 pod of Job default/${name}: ${next}\n`), stdout);
    }
    for (const [what, name] of [
      ['podFailurePolicy with exit codes', 'coded'],
      ['failures of single indexes (backoffLimitPerIndex, maxFailedIndexes)', 'indexed'],
    ]) {
      assert.ok(stdout.includes(`Not considered: ${what}, for 1 pod of Job default/${name}.\n`), stdout);
    }
    const { code, stderr } = await cliHere(testEnv.cluster(), ['reconcile', '--yes']);
    assert.equal(code, 0, stderr);
    const recreated = async () => {
      await endTerminating();
      return `${await on('free-1')}` === 'coded,ignored,indexed,usual';
    };
    await eventually('four are recreated', recreated, 60_000, () => on('free-1'));
    const { items } = (await api().expect('GET', JOBS)) as {
      items: { metadata: { name: string }; status: { conditions?: { type: string; status: string }[] } }[];
    };
    const failed = items.filter(({ status }) =>
      status.conditions?.some(({ type, status }) => type === 'Failed' && status === 'True'),
    );
    assert.deepEqual(failed.map(({ metadata }) => metadata.name).toSorted(), ['failing', 'none', 'wide']);
    await eventually('the other pod goes', async () => (await on('other-1')).length === 0);
  });
});
