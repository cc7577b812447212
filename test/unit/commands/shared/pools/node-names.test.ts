import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fullName,
  fullNames,
  namedNodes,
  nodeIn,
  similarNodes,
} from '../../../../../src/commands/shared/pools/node-names.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';

const EKS = ['ip-10-0-1-1', 'ip-10-0-1-15', 'ip-10-0-2-15'].map(name => `${name}.eu-west-1.compute.internal`);
const GKE = ['gke-prod-default-pool-5f2c3a1b-x7kq', 'gke-prod-default-pool-5f2c3a1b-9zkd'];

test('finds a name by the part before a dot, and prefers an exact name', () => {
  assert.equal(fullName('ip-10-0-1-15', EKS), EKS[1]);
  assert.equal(fullName('ip-10-0-1-1', EKS), EKS[0]);
  assert.equal(fullName('ip-10-0-1', EKS), undefined);
  assert.equal(fullName('web', ['web', 'web.b', 'web.c']), 'web');
  assert.throws(() => fullName('web', ['web.c', 'web.b'], '--node: '), {
    message: '--node: node "web" is ambiguous: web.b, web.c',
    next: 'use the full name',
  });
  assert.deepEqual(fullNames(['ip-10-0-1-15', EKS[1] ?? ''], EKS), [EKS[1]]);
});

test('finds the owner and the full name of a node by its short name', () => {
  const record = recordOf({ pool: 'worker' });
  const labels = { 'node-role.kubernetes.io/worker': '' };
  const find = nodeIn(
    new ClusterState(
      [aPool()],
      EKS.map(name => aNode({ name, record, labels })),
      [],
    ),
  );
  assert.deepEqual(find('ip-10-0-1-15'), { owner: 'worker', name: EKS[1] });
  assert.equal(find('ip-10-0-1'), undefined);
});

test('suggests nodes with a similar name or with that end', () => {
  assert.deepEqual(similarNodes(['x7kq'], GKE), [GKE[0]]);
  assert.deepEqual(similarNodes(['ip-10-0-115'], EKS), [EKS[1]]);
  assert.deepEqual(similarNodes(['ip-10-0-1-16'], EKS), []);
  assert.deepEqual(similarNodes(['web2'], ['web3', 'web20']), ['web20']);
  assert.deepEqual(similarNodes(['ip-10-0-1'], EKS), [EKS[0], EKS[1]]);
  assert.deepEqual(similarNodes(['n-'], ['n-4', 'n-2', 'n-3', 'n-1']), ['n-1', 'n-2', 'n-3']);
  const random = ['l1m2', 'a1b2'].map(end => `gke-backend-8f3c1d2e-${end}`);
  assert.deepEqual(similarNodes(['gke-backend-8f3c1d2e-a1b'], random), [random[1]]);
  assert.deepEqual(similarNodes(['gke-backend-8f3c1d2e-a1b3'], random), [random[1]]);
  assert.deepEqual(similarNodes(['nothing-of-that'], [...EKS, ...GKE]), []);
  assert.throws(() => fullNames(['ip-10-0-115'], EKS), {
    message: `node "ip-10-0-115" not found; did you mean "${EKS[1]}"?`,
  });
});

test('lists nodes only if a name is not found', async () => {
  const nodes = EKS.map(name => aNode({ name }));
  const lists: string[] = [];
  const client = {
    get: async (name: string) => nodes.find(each => each.name === name),
    list: async () => {
      lists.push('list');
      return nodes;
    },
  };
  assert.deepEqual(await namedNodes([EKS[0] ?? ''], client), [nodes[0]]);
  assert.deepEqual(lists, []);
  assert.deepEqual(await namedNodes(['ip-10-0-2-15', EKS[0] ?? ''], client), [nodes[2], nodes[0]]);
  assert.deepEqual(lists, ['list']);
});
