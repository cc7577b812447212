/** Pools of the earlier operator: a node keeps the values that it had before it joined, in every takeover. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TAKEOVER_ANNOTATION } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useCrd } from './earlier-crd.ts';
import { inheritedPool } from './inherited-pool.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const TEST_MS = 120_000;
const testEnv = useTestEnv();
const { cluster } = testEnv;
const api = () => raw(cluster());
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const GOLD = { ...role('p'), tier: 'gold' };
const run = (...args: string[]) => cliHere(cluster(), args);
const tier = async (node: string) => (await testEnv.node(node)).metadata.labels.tier;
const takeover = async () => (await testEnv.getPool('p'))?.metadata.annotations?.[TAKEOVER_ANNOTATION];

const inherited = () => inheritedPool(cluster(), { labels: { tier: 'gold' } });

/** A change freeze: the node cannot be written. Returns a function that ends it. */
async function frozen(node: string): Promise<() => Promise<void>> {
  const metadata = { name: 'freeze' };
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] };
  await api().expect('POST', `${ADMISSION}/validatingadmissionpolicies`, {
    metadata,
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: `object.metadata.name != '${node}'`, message: 'change freeze' }],
    },
  });
  await api().expect('POST', `${ADMISSION}/validatingadmissionpolicybindings`, {
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  });
  const probe = async () => {
    const patch = { metadata: { labels: { probe: 'x' } } };
    return (await api().request('PATCH', `/api/v1/nodes/${node}?dryRun=All`, patch)).status;
  };
  await eventually('the freeze is in force', async () => (await probe()) === 422);
  return async () => {
    await api().request('DELETE', `${ADMISSION}/validatingadmissionpolicybindings/freeze`);
    await api().request('DELETE', `${ADMISSION}/validatingadmissionpolicies/freeze`);
    await eventually('the freeze has ended', async () => (await probe()) === 200);
  };
}

test('a status that cannot be written does not prolong the takeover', { timeout: TEST_MS }, async t => {
  t.after(() => useCrd(cluster(), 'ours'));
  await testEnv.nodes({ name: 'a', labels: GOLD });
  await useCrd(cluster(), 'no status subresource');
  await inherited();
  assert.equal((await run('reconcile')).code, 1, 'the status could not be written');
  assert.equal(await takeover(), 'finished');
  await testEnv.nodes({ name: 'b', labels: GOLD });
  await run('reconcile');
  assert.equal((await run('install')).code, 0);
  await eventually('the status is written', async () => (await run('reconcile')).code === 0);
  assert.equal((await run('delete', 'p', '--yes')).code, 0);
  assert.deepEqual([await tier('a'), await tier('b')], [undefined, 'gold']);
});

test('a node that a policy refuses does not prolong the takeover', { timeout: TEST_MS }, async t => {
  await testEnv.nodes({ name: 'a', labels: GOLD }, { name: 'frozen', labels: GOLD });
  await inherited();
  const thaw = await frozen('frozen');
  t.after(thaw);
  assert.equal((await run('reconcile')).code, 1, 'one node is refused');
  assert.equal(await takeover(), 'finished');
  assert.equal((await testEnv.getPool('p'))?.status?.observedGeneration, 1, 'no pool whose CRD drops fields');
  await testEnv.nodes({ name: 'b', labels: GOLD });
  assert.equal((await run('reconcile')).code, 1);
  await thaw();
  assert.equal((await run('reconcile')).code, 0);
  assert.equal((await run('delete', 'p', '--yes')).code, 0);
  const tiers = [await tier('a'), await tier('b'), await tier('frozen')];
  assert.deepEqual(tiers, [undefined, 'gold', 'gold'], 'of a node without a record, nobody knows who set it');
});

test('a node that is added before the first run keeps its values', { timeout: TEST_MS }, async () => {
  await testEnv.nodes({ name: 'a', labels: GOLD }, { name: 'b', labels: { tier: 'gold' } });
  await inherited();
  assert.equal((await run('add', 'p', 'b')).code, 0);
  assert.equal((await run('reconcile')).code, 0);
  assert.equal((await run('delete', 'p', '--yes')).code, 0);
  assert.deepEqual([await tier('a'), await tier('b')], [undefined, 'gold']);
});
