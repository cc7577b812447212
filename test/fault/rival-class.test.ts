/** A policy that rewrites the RuntimeClass of a pool at each write. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { condition, role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { startChild, useFaultEnv } from './fault-env.ts';
import { auditMark, writes } from './oracle.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';
const NAME = 'node-pool-p';
const WATCHED_MS = 5_000;
const SAYS = /an admission policy or webhook changed RuntimeClass node-pool-p during the write/;

async function rewriteClasses(t: { after(fn: () => unknown): void }): Promise<void> {
  const client = raw(testEnv.cluster());
  const paths = ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'].map(path => `${ADMISSION}/${path}`);
  t.after(async () => {
    for (const path of paths) await client.request('DELETE', `${path}/classes`);
  });
  const expression = '[JSONPatch{op: "add", path: "/scheduling/nodeSelector/rival", value: "yes"}]';
  const rule = { apiGroups: ['node.k8s.io'], apiVersions: ['v1'], resources: ['runtimeclasses'] };
  await client.expect('POST', paths[0] ?? '', {
    metadata: { name: 'classes' },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE', 'UPDATE'] }] },
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
    },
  });
  await client.expect('POST', paths[1] ?? '', { metadata: { name: 'classes' }, spec: { policyName: 'classes' } });
  const probe = { metadata: { name: 'probe' }, handler: 'runc', scheduling: { nodeSelector: { own: 'yes' } } };
  await eventually('the policy is in force', async () => {
    const answer = (await client.expect('POST', `${CLASSES}?dryRun=All`, probe)) as typeof probe;
    return 'rival' in answer.scheduling.nodeSelector;
  });
}

async function classWrites(mark: number): Promise<number> {
  const all = Object.entries(await writes(testEnv.cluster(), mark));
  return all.reduce((sum, [what, count]) => sum + (what.includes('runtimeclasses') ? count : 0), 0);
}

row(
  {
    fault: 'rival writers on the server',
    slow: true,
    how: 'a policy rewrites the RuntimeClass of a pool',
    holds: 'the RuntimeClass is retried with growing delays; status 500 names it; the nodes are reconciled',
  },
  async (t, facts) => {
    await testEnv.nodes({ name: 'a', labels: role('p') });
    await rewriteClasses(t);
    await testEnv.pool('p', { handler: 'runc', labels: { tier: 'ours' } });
    const mark = await auditMark(testEnv.cluster());
    const { code, stderr } = await cli(testEnv.cluster(), ['reconcile']);
    assert.deepEqual([code, await classWrites(mark)], [1, 1]);
    assert.match(stderr, SAYS);
    const pool = await testEnv.getPool('p');
    assert.equal(pool?.status?.status, 500);
    assert.match(condition(pool, 'Applied').message, SAYS);
    assert.equal((await testEnv.node('a')).metadata.labels.tier, 'ours');

    const child = startChild(t, testEnv.cluster());
    await child.synced();
    await sleep(WATCHED_MS);
    // One of reconcile; those of the watch at once, and after 1 s, 2 s and 4 s.
    facts.writes = await classWrites(mark);
    assert.ok(facts.writes <= 6, `${facts.writes} writes`);
    assert.equal((await raw(testEnv.cluster()).request('GET', `${CLASSES}/${NAME}`)).status, 200);
    assert.equal(await child.end(), 0);
  },
);
