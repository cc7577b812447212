import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { labelsToJoin, labelsToLeave } from '../../../../src/nodepool/membership/member-labels.ts';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { aNode, aPool, recordOf } from '../fixtures.ts';

const byRole = aPool({}, { name: 'gpu' });
const selecting = (name: string, nodeSelector: Record<string, string>) => aPool({ nodeSelector }, { name });
const ROLE = 'node-role.kubernetes.io/gpu';

describe('labelsToJoin', () => {
  test('sets missing labels only', () => {
    const pool = selecting('p', { a: '1', b: '2' });
    assert.deepEqual(labelsToJoin(aNode({ labels: { b: '2', c: '3' } }), undefined, pool), { a: '1' });
    assert.deepEqual(labelsToJoin(aNode(), undefined, byRole), { [ROLE]: '' });
  });

  test('refuses to replace a label with another value', () => {
    const node = aNode({ labels: { a: 'mine' } });
    assert.throws(() => labelsToJoin(node, undefined, selecting('p', { a: '1' })), {
      message: 'node n1 has the label a=mine, but members of pool p have a=1',
    });
  });

  test('refuses to set a label of the cluster', () => {
    const provider = 'eks.amazonaws.com/nodegroup';
    for (const key of ['kubernetes.io/os', 'topology.kubernetes.io/zone', 'beta.kubernetes.io/arch', provider]) {
      assert.throws(() => labelsToJoin(aNode(), undefined, selecting('p', { [key]: 'x' })), {
        message: `node n1 has no label ${key}, but members of pool p have ${key}=x`,
        next: 'use other nodes: the cluster itself sets this label',
      });
    }
    const there = aNode({ labels: { 'kubernetes.io/os': 'x' } });
    assert.deepEqual(labelsToJoin(there, undefined, selecting('p', { 'kubernetes.io/os': 'x', a: '1' })), { a: '1' });
  });

  test('removes or replaces the labels of the pool that the node leaves', () => {
    const source = selecting('old', { pool: 'old', env: 'prod', extra: 'x', 'topology.kubernetes.io/zone': 'z' });
    const target = selecting('new', { pool: 'new', env: 'prod' });
    const labels = { pool: 'old', env: 'prod', extra: 'x', 'topology.kubernetes.io/zone': 'z' };
    assert.deepEqual(labelsToJoin(aNode({ labels }), undefined, target, source), { pool: 'new', extra: null });
  });

  test('replaces a label that a pool set', () => {
    const record = parseRecord(recordOf({ pool: 'old', labels: { tier: 'low' } }));
    const target = selecting('new', { tier: 'high' });
    const node = aNode({ labels: { tier: 'low', pool: 'old' } });
    assert.deepEqual(labelsToJoin(node, record, target, selecting('old', { pool: 'old' })), {
      pool: null,
      tier: 'high',
    });
    assert.throws(() => labelsToJoin({ ...node, labels: { tier: 'mid' } }, record, target), /tier=mid/);
  });

  test('refuses a node that would still match the pool that it leaves', () => {
    const source = selecting('wide', { env: 'prod' });
    const target = selecting('narrow', { env: 'prod', tier: 'gold' });
    assert.throws(() => labelsToJoin(aNode({ labels: { env: 'prod' } }), undefined, target, source), {
      message: 'node n1 cannot leave pool wide: that pool selects the node by env=prod, which pool narrow also needs',
      next: 'add a label of your own to the selector: `kubectl label nodes -l env=prod node-role.kubernetes.io/wide=`, then `kubectl nodepool edit wide --node-selector node-role.kubernetes.io/wide=`; run the command again; future nodes need this label',
    });
  });

  test("names the cluster's label that keeps a node in its pool, and the next steps", () => {
    const labels = { 'cloud.google.com/gke-nodepool': 'a' };
    const adopted = selecting('pool-a', labels);
    assert.throws(() => labelsToJoin(aNode({ labels }), undefined, selecting('gpu', { gpu: '' }), adopted), {
      message:
        'node n1 cannot leave pool pool-a: that pool selects the node by cloud.google.com/gke-nodepool=a, which the cluster itself sets',
      next: /^add a label of your own to the selector: .*`kubectl nodepool edit pool-a --node-selector node-role/,
    });
    const mended = selecting('pool-a', { ...labels, 'node-role.kubernetes.io/pool-a': '' });
    const node = aNode({ labels: { ...labels, 'node-role.kubernetes.io/pool-a': '' } });
    assert.deepEqual(labelsToJoin(node, undefined, selecting('gpu', { gpu: '' }), mended), {
      'node-role.kubernetes.io/pool-a': null,
      gpu: '',
    });
  });
});

describe('labelsToLeave', () => {
  const node = aNode({ labels: { env: 'prod', tier: 'gold' } });

  test('removes the labels of the selector', () => {
    assert.deepEqual(labelsToLeave(node, selecting('p', { env: 'prod', tier: 'gold' }), [], true), {
      env: null,
      tier: null,
    });
    assert.deepEqual(labelsToLeave(node, byRole, [], true), { [ROLE]: null });
  });

  test('keeps labels that another pool selects by, when removing others suffices', () => {
    const [narrow, wide] = [selecting('n', { env: 'prod', tier: 'gold' }), selecting('w', { env: 'prod' })];
    assert.deepEqual(labelsToLeave(node, narrow, [wide], true), { tier: null });
    assert.deepEqual(labelsToLeave(node, wide, [narrow], true), { env: null }, 'its own pool may take the last one');
    assert.throws(() => labelsToLeave(node, wide, [narrow], false), {
      message: 'node n1 cannot be removed from pool w: pool n selects the node by the same labels, env=prod',
    });
  });

  test('keeps labels of the cluster, and refuses when no other label can be removed', () => {
    const zoned = selecting('z', {
      'topology.kubernetes.io/zone': 'a',
      'cloud.google.com/gke-nodepool': 'p',
      env: 'prod',
    });
    assert.deepEqual(labelsToLeave(node, zoned, [], true), { env: null });
    for (const fact of ['eks.amazonaws.com/capacityType', 'nvidia.com/gpu.present', 'feature.node.kubernetes.io/x']) {
      assert.throws(() => labelsToLeave(node, selecting('p', { [fact]: 'x' }), [], true), /the cluster itself sets/);
    }
    assert.throws(() => labelsToLeave(node, selecting('arm', { 'kubernetes.io/arch': 'arm64' }), [], true), {
      message: 'node n1 cannot be removed from pool arm: the cluster itself sets the labels kubernetes.io/arch=arm64',
      next: 'add a label of your own to the selector: `kubectl label nodes -l kubernetes.io/arch=arm64 node-role.kubernetes.io/arm=`, then `kubectl nodepool edit arm --node-selector node-role.kubernetes.io/arm=`; run the command again; future nodes need this label',
    });
  });
});

describe('expressions', () => {
  const has = (key: string, operator: string, ...values: string[]) => ({ key, operator, values });
  const meeting = (name: string, ...matchExpressions: ReturnType<typeof has>[]) =>
    aPool({ matchExpressions }, { name });

  test('a node that meets the expressions joins without new labels', () => {
    const pool = aPool({ nodeSelector: { a: '1' }, matchExpressions: [has('cpu', 'Gt', '4')] }, { name: 'p' });
    assert.deepEqual(labelsToJoin(aNode({ labels: { cpu: '8' } }), undefined, pool), { a: '1' });
  });

  const overwrite = (pair: string) =>
    `use other nodes, or change the label: \`kubectl label node n1 ${pair} --overwrite\``;
  for (const [expression, labels, live, text, next] of [
    [has('zone', 'In', 'a', 'b'), {}, 'no label zone', 'zone in (a,b)', overwrite('zone=a')],
    [has('cpu', 'Lt', '4'), { cpu: '8' }, 'the label cpu=8', 'cpu<4', overwrite('cpu=NUMBER')],
    [has('gpu', 'Exists'), {}, 'no label gpu', 'gpu', overwrite('gpu=')],
    [
      has('spot', 'DoesNotExist'),
      { spot: 'x' },
      'the label spot=x',
      '!spot',
      'use other nodes, or change the label: `kubectl label node n1 spot-`',
    ],
    [
      has('kubernetes.io/arch', 'NotIn', 'arm64'),
      { 'kubernetes.io/arch': 'arm64' },
      'the label kubernetes.io/arch=arm64',
      'kubernetes.io/arch notin (arm64)',
      'use other nodes: the cluster itself sets this label',
    ],
  ] as const) {
    test(`a node that does not meet ${text} is refused`, () => {
      const join = () =>
        labelsToJoin(aNode({ labels }), undefined, meeting('p', has('n1', 'DoesNotExist'), expression));
      assert.throws(join, { message: `node n1 has ${live}, but members of pool p meet ${text}`, next });
    });
  }

  const fact = (of: string, cannot: string, key: string) => ({
    message: `node n1 ${cannot}: that pool selects the node by an expression on the label ${key}, which others may also use`,
    next: `remove the label yourself: \`kubectl label node n1 ${key}-\`, or change the selector of the pool: \`kubectl nodepool edit ${of}\``,
  });

  test('refuses to remove labels for an expression, and names it in the error', () => {
    const node = aNode({ labels: { zone: 'a', gpu: '', env: 'prod', 'kubernetes.io/os': 'linux' } });
    const pool = meeting('p', has('spot', 'DoesNotExist'), has('kubernetes.io/os', 'Exists'), has('gpu', 'Exists'));
    const removed = 'cannot be removed from pool p';
    assert.throws(() => labelsToLeave(node, pool, [], true), fact('p', removed, 'gpu'));
    const both = aPool({ nodeSelector: { env: 'prod' }, matchExpressions: [has('gpu', 'Exists')] });
    assert.deepEqual(labelsToLeave(node, both, [], true), { env: null });
    const [zone, gpu] = [has('zone', 'In', 'a'), has('gpu', 'Exists')];
    const leave = () => labelsToLeave(node, meeting('p', gpu, zone), [meeting('q', gpu)], true);
    assert.throws(leave, fact('p', removed, 'zone'));
    assert.throws(() => labelsToLeave(node, meeting('p', gpu), [meeting('q', gpu)], false), {
      message: 'node n1 cannot be removed from pool p: pool q selects the node by the same labels, gpu',
    });
  });

  test('does not suggest removing a control plane role', () => {
    const key = 'node-role.kubernetes.io/control-plane';
    const node = aNode({ labels: { [key]: '' } });
    const next = 'change the selector of the pool: `kubectl nodepool edit p`';
    const cannot = fact('p', 'cannot be removed from pool p', key).message;
    assert.throws(() => labelsToLeave(node, meeting('p', has(key, 'Exists')), [], true), { message: cannot, next });
  });

  test('refuses when a node lacks the label that would have to be removed', () => {
    assert.throws(() => labelsToLeave(aNode(), meeting('p', has('spot', 'DoesNotExist')), [], true), {
      message: 'node n1 cannot be removed from pool p: that pool selects nodes without a label, !spot',
      next: /`kubectl label nodes -l '!spot' node-role.kubernetes.io\/p=`, then `kubectl nodepool edit p --node-selector/,
    });
    assert.throws(
      () => labelsToJoin(aNode(), undefined, selecting('q', { a: '1' }), meeting('p', has('spot', 'NotIn', 'yes'))),
      { message: 'node n1 cannot leave pool p: that pool selects nodes without a label, spot notin (yes)' },
    );
  });

  test('a move keeps labels of the new pool, and refuses to change labels in expressions', () => {
    const old = aPool({ nodeSelector: { gpu: 'yes', tier: 'a' } }, { name: 'old' });
    const node = aNode({ labels: { gpu: 'yes', tier: 'a' } });
    assert.deepEqual(labelsToJoin(node, undefined, meeting('p', has('gpu', 'Exists')), old), { tier: null });
    assert.deepEqual(labelsToJoin(node, undefined, meeting('p', has('gpu', 'DoesNotExist')), old), {
      gpu: null,
      tier: null,
    });
    const byGpu = meeting('old', has('gpu', 'Exists'));
    const move = () => labelsToJoin(node, undefined, selecting('p', { a: '1' }), byGpu);
    assert.throws(move, fact('old', 'cannot leave pool old', 'gpu'));
    const own = aPool({ nodeSelector: { tier: 'a' }, matchExpressions: [has('gpu', 'Exists')] }, { name: 'old' });
    assert.deepEqual(labelsToJoin(node, undefined, selecting('p', { a: '1' }), own), { tier: null, a: '1' });
    assert.throws(() => labelsToJoin(node, undefined, meeting('p', has('gpu', 'In', 'yes')), byGpu), {
      message: 'node n1 cannot leave pool old: that pool selects the node by gpu, which pool p also needs',
    });
  });
});
