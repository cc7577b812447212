import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NamingPod, workloadsOf } from '../../../../src/nodepool/plan/runtime-class-users.ts';

const runtimeClass = 'node-pool-gpu';

function pod(name: string, controller?: NamingPod['controller'], templateHash?: string): NamingPod {
  return { namespace: 'ml', name, runtimeClass, controller, templateHash };
}

test('counts pods by controller, and adds templates without pods', () => {
  const replicaSet = { kind: 'ReplicaSet', name: 'train-5c8f' };
  const pods = [
    pod('train-5c8f-a', replicaSet, '5c8f'),
    pod('train-5c8f-b', replicaSet, '5c8f'),
    // Of no Deployment: nothing set the label, or somebody else did.
    pod('plain-a', { kind: 'ReplicaSet', name: 'plain' }),
    pod('odd-a', { kind: 'ReplicaSet', name: 'odd' }, 'x'),
    pod('store-0', { kind: 'StatefulSet', name: 'store' }),
    pod('bare'),
  ];
  const of = (kind: string, name: string, count: number) => ({
    namespace: 'ml',
    kind,
    name,
    runtimeClass,
    pods: count,
  });
  const templates = [
    { kind: 'Deployment' as const, namespace: 'ml', name: 'train', runtimeClass },
    { kind: 'CronJob' as const, namespace: 'ml', name: 'nightly', runtimeClass },
  ];
  assert.deepEqual(workloadsOf(pods, templates), [
    of('CronJob', 'nightly', 0),
    of('Deployment', 'train', 2),
    of('Pod', 'bare', 1),
    of('ReplicaSet', 'odd', 1),
    of('ReplicaSet', 'plain', 1),
    of('StatefulSet', 'store', 1),
  ]);
  assert.deepEqual(workloadsOf([], []), []);
});
