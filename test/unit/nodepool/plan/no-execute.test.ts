/** Which pods must go before taints with the effect NoExecute are set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { drainingText, podsLeft } from '../../../../src/nodepool/plan/no-execute.ts';
import type { Toleration } from '../../../../src/nodepool/types.ts';
import { taint } from '../fixtures.ts';

const pod = (name: string, tolerations: Toleration[], more: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'ns',
  name,
  uid: name,
  phase: 'Running',
  labels: {},
  isReady: true,
  isMirror: false,
  creationTimestamp: '2026-01-01T00:00:00Z',
  hasEmptyDir: false,
  placement: { nodeSelector: {}, nodeTerms: undefined, tolerations },
  ...more,
});

const TAINTS = [taint('dedicated=x:NoExecute')];
const LIVE = [taint('cni:NoSchedule'), taint('dedicated=x:NoSchedule'), taint('dedicated=old:NoExecute')];
const left = (pods: DrainPod[], live = LIVE, taints = TAINTS) => {
  const { pods: found, areLast } = podsLeft(pods, taints, live);
  return [found.map(({ name }) => name), areLast] as const;
};
const GONE = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const FOR_EVER: Toleration = { operator: 'Exists', effect: 'NoExecute' };
const ANY_NO_SCHEDULE: Toleration = { operator: 'Exists', effect: 'NoSchedule' };

const CASES: [string, DrainPod, stays: boolean][] = [
  ['tolerates nothing', pod('p', []), false],
  ['tolerates the taint forever', pod('p', [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }]), true],
  ['tolerates every effect of the key', pod('p', [{ key: 'dedicated', operator: 'Exists' }]), true],
  ['tolerates everything', pod('p', [{ operator: 'Exists' }]), true],
  ['tolerates only the previous value', pod('p', [{ key: 'dedicated', value: 'old', effect: 'NoExecute' }]), false],
  ['tolerates the taint for a time', pod('p', [{ ...FOR_EVER, tolerationSeconds: 3600 }]), false],
  [
    'tolerates the taint forever only by a later toleration',
    pod('p', [{ ...FOR_EVER, tolerationSeconds: 1 }, FOR_EVER]),
    false,
  ],
  ['has Succeeded', pod('p', [], { phase: 'Succeeded' }), true],
  ['has Failed', pod('p', [], { phase: 'Failed' }), true],
  ['is pending', pod('p', [], { phase: 'Pending', isReady: false }), false],
  ['is a mirror pod', pod('p', [], { isMirror: true }), true],
  [
    'belongs to a DaemonSet',
    pod('p', [], { controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd' } }),
    false,
  ],
  ['terminates', pod('p', [], GONE), false],
];

for (const [what, one, stays] of CASES) {
  test(`a pod that ${what} ${stays ? 'stays' : 'must go'}`, () => {
    assert.deepEqual(left([one]), stays ? [[], false] : [['p'], false]);
  });
}

test('pods that would come back are evicted last, unless they terminate or are NotReady', () => {
  const agent = pod('agent', [ANY_NO_SCHEDULE]);
  assert.deepEqual(left([agent, pod('web', [])]), [['web'], false]);
  assert.deepEqual(left([agent, pod('web', [], GONE)]), [['web'], false]);
  assert.deepEqual(left([agent]), [['agent'], true]);
  assert.deepEqual(left([{ ...agent, ...GONE }]), [[], false]);
  assert.deepEqual(left([{ ...agent, isReady: false }]), [[], false]);
  const equal = pod('equal', [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }]);
  assert.deepEqual(left([equal]), [['equal'], true]);
  // A NoSchedule taint of somebody else with another value keeps it away as well.
  assert.deepEqual(left([equal], [taint('dedicated=theirs:NoSchedule')]), [['equal'], false]);
});

test('a pod stays only if it tolerates all taints', () => {
  const taints = [...TAINTS, taint('gpu:NoExecute')];
  const one = pod('one', [{ key: 'dedicated', operator: 'Exists' }]);
  const both = pod('both', [
    { key: 'dedicated', operator: 'Exists' },
    { key: 'gpu', operator: 'Exists' },
  ]);
  assert.deepEqual(left([one, both], [...LIVE, taint('gpu:NoSchedule')], taints), [['one'], false]);
});

test('the message names the nodes, and why a pod is held back', () => {
  assert.equal(
    drainingText({ nodes: ['a', 'b', 'c', 'd'], blocked: 'pod ns/p on node a waits for PodDisruptionBudget ns/b: x' }),
    'pods of 4 nodes are evicted before NoExecute taints are set: a, b, c and 1 more; pod ns/p on node a waits for PodDisruptionBudget ns/b: x',
  );
});
