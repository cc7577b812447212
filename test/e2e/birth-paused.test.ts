/** manifests/born-in-pool.yaml and paused pools: a node whose oldest pool is paused waits for it, as for reconcile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply, BIRTH_RECORD, inForce, markOf, OLDER_AND_YOUNGER, POLICY, recordOf } from './birth.ts';
import { GROUP } from './kubelet.ts';
import { condition, type LiveNode, statuses, taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const both = { [GROUP]: 'both' };

/** It also selects nodes that no other pool does, by which a test sees that the server knows it. */
const spec = (name: string): NodePoolSpec => ({
  matchExpressions: [{ key: GROUP, operator: 'In', values: ['both', name] }],
  labels: { shared: name, [`only-${name}`]: '' },
  taints: [{ key: 'shared', value: name, effect: 'NoSchedule' }],
  startupTaints: [{ key: `only-${name}`, effect: 'NoSchedule' }],
  annotations: { shared: name, [`only-${name}`]: name },
});

/** Resolves once the server evaluates what was changed last. @param pool that gives to nodes of both, if any */
const bornIn = (pool: string | undefined) =>
  eventually(`nodes are born in ${pool ?? 'no pool'}`, async () => {
    const body = nodeObject({ name: 'probe', labels: both });
    const node = (await raw(testEnv.cluster()).expect('POST', '/api/v1/nodes?dryRun=All', body)) as LiveNode;
    return markOf(node)?.pool === pool;
  });

/** What pools gave, by their keys. */
function given(node: LiveNode): string[] {
  const { labels, annotations = {} } = node.metadata;
  const keys = [...Object.keys(labels), ...Object.keys(annotations)].filter(key => /shared|only|pool$/.test(key));
  return [...keys, ...taintsOf(node)].toSorted();
}

const all = (name: string) =>
  [
    ...[`only-${name}`, `only-${name}`, 'shared', 'shared', 'nodes.lailin.xyz/pool'],
    ...[`shared=${name}:NoSchedule`, `only-${name}:NoSchedule`],
  ].toSorted();

test('a younger pool sets nothing while the oldest pool is paused', {
  skip,
  timeout: 200_000,
}, async () => {
  await apply(testEnv.cluster(), POLICY);
  for (const [older, younger] of OLDER_AND_YOUNGER) {
    await testEnv.clean();
    await testEnv.pool(older, spec(older));
    await testEnv.pool(younger, spec(younger), { younger: true });
    for (const name of [older, younger]) await inForce(testEnv, name, { [GROUP]: name });
    await testEnv.edit(older, { spec: { paused: true } });
    await bornIn(undefined);
    await testEnv.nodes({ name: 'n', labels: both });
    const node = await testEnv.node('n');
    assert.deepEqual([given(node), markOf(node)?.pool], [[], undefined]);

    assert.deepEqual(statuses(await testEnv.reconcile()), { [older]: 200, [younger]: 409 });
    assert.equal((await testEnv.node('n')).metadata.resourceVersion, node.metadata.resourceVersion, 'it waits');
    assert.match(condition(await testEnv.getPool(younger), 'Conflict').message, new RegExp(`n .*${older}`));

    await testEnv.edit(older, { spec: { paused: null } });
    await testEnv.reconcile();
    const after = await testEnv.node('n');
    assert.deepEqual(given(after), all(older), 'with its startup taints: it has not joined before');
    assert.equal((recordOf(after) as { pool: string }).pool, older);
    assert.equal(BIRTH_RECORD in (after.metadata.annotations ?? {}), false);
  }
});

test('a younger or terminating paused pool does not keep nodes from another pool', { skip }, async () => {
  await apply(testEnv.cluster(), POLICY);
  await testEnv.pool('older', spec('older'), { metadata: { finalizers: ['a.b/c'] } });
  await testEnv.pool('younger', spec('younger'), { younger: true });
  for (const name of ['older', 'younger']) await inForce(testEnv, name, { [GROUP]: name });
  await testEnv.edit('younger', { spec: { paused: true } });
  await eventually('the pause is known', async () => {
    const body = nodeObject({ name: 'probe', labels: { [GROUP]: 'younger' } });
    const node = (await raw(testEnv.cluster()).expect('POST', '/api/v1/nodes?dryRun=All', body)) as LiveNode;
    return markOf(node)?.pool === undefined;
  });
  await testEnv.nodes({ name: 'a', labels: both });
  assert.deepEqual(given(await testEnv.node('a')), all('older'));

  await testEnv.edit('younger', { spec: { paused: null } });
  await testEnv.edit('older', { spec: { paused: true } });
  await bornIn(undefined);
  await testEnv.nodes({ name: 'b', labels: both });
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/older');
  await bornIn('younger');
  await testEnv.nodes({ name: 'c', labels: both });
  assert.deepEqual(given(await testEnv.node('c')), all('younger'));
  // The one that waited for it is the younger pool's, too.
  await testEnv.reconcile('younger');
  assert.deepEqual(given(await testEnv.node('b')), all('younger'));
  await testEnv.edit('older', { metadata: { finalizers: [] } });
});
