import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRuntimeClasses, strayLabels } from '../../../../src/commands/doctor/state.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { planRuntimeClass } from '../../../../src/nodepool/plan/runtime-class.ts';
import { type NodePool, POOL_LABEL, type RuntimeClass } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

const pool = (spec: NodePool['spec'] = { handler: 'nvidia' }) => aPool(spec, { name: 'gpu', uid: 'u' });

/** As a reconcile makes it. */
function classOf(of: NodePool): RuntimeClass {
  const plan = planRuntimeClass(of, undefined);
  assert.ok(plan.kind === 'create');
  return plan.desired;
}

const OURS = classOf(pool());
const ofOwner = (owner: object): RuntimeClass => ({
  ...OURS,
  metadata: {
    ...OURS.metadata,
    ownerReferences: OURS.metadata.ownerReferences?.map(each => ({ ...each, ...owner })) ?? [],
  },
});

const cases: [string, NodePool, RuntimeClass[], [string, ...string[]]][] = [
  ['as the pool says', pool(), [OURS], ['ok']],
  ['no handler', pool({}), [], ['ok']],
  ['missing', pool(), [], ['warning', 'is missing']],
  ['another handler', pool(), [{ ...OURS, handler: 'runc' }], ['warning', 'has the handler runc instead of nvidia']],
  ['with another owner', pool(), [ofOwner({ kind: 'Deployment' })], ['error', 'does not belong to the pool']],
  ['without an owner', pool(), [ofOwner({ controller: false })], ['error', 'does not belong to the pool']],
  ['of an earlier pool', pool(), [ofOwner({ uid: 'old' })], ['warning', 'belongs to an earlier pool of the same name']],
  [
    'being deleted',
    pool(),
    [{ ...OURS, metadata: { ...OURS.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
    ['warning', 'is being deleted'],
  ],
  [
    'other scheduling',
    pool({ handler: 'nvidia', labels: { tier: 'gold' } }),
    [OURS],
    ['warning', 'differs from the pool in its nodeSelector or tolerations'],
  ],
  ['left', pool({}), [OURS], ['warning', 'is left over: the pool has no handler']],
  ['of an invalid pool', pool({ handler: 'No' }), [], ['ok']],
];

for (const [name, of, classes, [status, ...whats]] of cases) {
  test(`RuntimeClass ${name}: ${status}`, () => {
    const found = checkRuntimeClasses([of], { value: classes });
    const expected = whats.map(what => `gpu: RuntimeClass node-pool-gpu ${what}`);
    assert.deepEqual([found.status, ...found.details], [status, ...expected]);
    assert.equal(found.remedy?.includes('reconcile') ?? false, status === 'warning');
  });
}

test('reports that RuntimeClasses cannot be read if a pool has a handler', () => {
  const refusal = new NodepoolError('cluster', 'cannot list RuntimeClasses', 'ask for a role');
  const { status, message } = checkRuntimeClasses([pool()], { refusal });
  assert.deepEqual([status, message], ['warning', 'not checked: cannot list RuntimeClasses']);
  assert.equal(checkRuntimeClasses([pool({})], { refusal }).status, 'ok');
});

test('names nodes whose pool label, selected by a RuntimeClass, no pool has set', () => {
  const member = aNode({
    name: 'member',
    labels: { size: '8', [POOL_LABEL]: 'big' },
    record: recordOf({ pool: 'big', labels: { [POOL_LABEL]: 'big' } }),
  });
  const forged = (name: string, value: string) => aNode({ name, labels: { [POOL_LABEL]: value } });
  const big = aPool({ matchExpressions: [{ key: 'size', operator: 'Exists' }] }, { name: 'big' });
  const nodes = [forged('b', 'big'), member, forged('a', 'big'), forged('c', 'Other')];
  const names = nodes.map(({ name }) => name);
  const strays = strayLabels(names, new ClusterState([big], nodes, []));
  assert.deepEqual(strays, ['nodes.lailin.xyz/pool=Other: c', 'nodes.lailin.xyz/pool=big: a, b']);
  assert.deepEqual(checkRuntimeClasses([big], { value: [] }, strays), {
    status: 'warning',
    message: 'nodes have the label nodes.lailin.xyz/pool, but no pool set it: a RuntimeClass may select these nodes',
    remedy: 'remove it: `kubectl label node NODE nodes.lailin.xyz/pool-`',
    details: strays,
  });
  const both = checkRuntimeClasses([pool()], { value: [] }, strays);
  assert.deepEqual([both.status, both.details.length], ['warning', 3]);
  assert.match(both.remedy ?? '', /^run `kubectl nodepool reconcile`; remove it: /);
});
