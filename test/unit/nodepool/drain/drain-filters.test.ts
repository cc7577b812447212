import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type DrainPod,
  type DrainRules,
  daemonSetOf,
  groupByOutcome,
  judgePod,
} from '../../../../src/nodepool/drain/drain-filters.ts';

const NOW = new Date('2026-11-21T09:00:00Z');
const NONE: DrainRules = {
  force: false,
  ignoreDaemonSets: false,
  deleteEmptyDirData: false,
  skipWaitForDeleteSeconds: 0,
};
const FORCE = { force: true };
const IGNORE = { ignoreDaemonSets: true };
const EMPTY_DIR = { deleteEmptyDirData: true };

const replicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };
const daemonSet = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' };

function pod(more: Partial<DrainPod> = {}): DrainPod {
  const placement = { nodeSelector: {}, nodeTerms: undefined, tolerations: [] };
  const base = { namespace: 'ns', name: 'p', uid: 'u', phase: 'Running', labels: {}, isReady: true, placement };
  const creationTimestamp = '2026-01-01T00:00:00Z';
  return { ...base, creationTimestamp, isMirror: false, hasEmptyDir: false, ...more };
}

const managed = pod({ controller: replicaSet });
const agent = pod({ controller: daemonSet });

const evict = (...warnings: string[]) => ({ kind: 'evict', warnings });
const refuse = (...reasons: string[]) => ({ kind: 'refuse', reasons });
const PASS = { kind: 'pass' };
const KEEP = { kind: 'keep' };

const leaving = (second: string, more: Partial<DrainPod> = {}) =>
  pod({ controller: replicaSet, deletionTimestamp: `2026-11-21T08:59:${second}Z`, ...more });

const CASES: [string, DrainPod, Partial<DrainRules>, object, { hasDaemonSet: boolean }?][] = [
  ['evicts a pod with a controller', managed, {}, evict()],
  ['a pod without a controller needs --force', pod(), {}, refuse('noController')],
  ['--force evicts a pod without a controller', pod(), FORCE, evict('noController')],
  ['evicts a Succeeded pod without --force', pod({ phase: 'Succeeded' }), {}, evict()],
  ['evicts a Failed pod without --force', pod({ phase: 'Failed' }), {}, evict()],
  ['a Pending pod without a controller needs --force', pod({ phase: 'Pending' }), {}, refuse('noController')],

  [
    'a pod with emptyDir needs --delete-emptydir-data',
    pod({ controller: replicaSet, hasEmptyDir: true }),
    {},
    refuse('localStorage'),
  ],
  [
    '--force does not evict a pod with emptyDir',
    pod({ controller: replicaSet, hasEmptyDir: true }),
    FORCE,
    refuse('localStorage'),
  ],
  [
    '--delete-emptydir-data evicts a pod with emptyDir',
    pod({ controller: replicaSet, hasEmptyDir: true }),
    EMPTY_DIR,
    evict('localStorage'),
  ],
  ['evicts a Failed pod with emptyDir without a flag', pod({ hasEmptyDir: true, phase: 'Failed' }), {}, evict()],
  ['reports both reasons of a pod', pod({ hasEmptyDir: true }), {}, refuse('localStorage', 'noController')],
  ['refuses a pod if only one of its reasons is allowed', pod({ hasEmptyDir: true }), FORCE, refuse('localStorage')],
  [
    'evicts a pod if both reasons are allowed',
    pod({ hasEmptyDir: true }),
    { ...FORCE, ...EMPTY_DIR },
    evict('localStorage', 'noController'),
  ],

  ['a DaemonSet pod needs --ignore-daemonsets', agent, {}, refuse('daemonSet')],
  ['--ignore-daemonsets keeps a DaemonSet pod', agent, IGNORE, KEEP],
  ['--ignore-daemonsets keeps a DaemonSet pod with other flags', agent, { ...IGNORE, ...FORCE, ...EMPTY_DIR }, KEEP],
  ['--force alone does not evict a DaemonSet pod', agent, FORCE, refuse('daemonSet')],
  ['evicts a Failed DaemonSet pod', pod({ controller: daemonSet, phase: 'Failed' }), {}, evict()],
  ['a pod of a deleted DaemonSet needs --force', agent, IGNORE, refuse('orphan'), { hasDaemonSet: false }],
  ['--force evicts a pod of a deleted DaemonSet', agent, FORCE, evict('orphan'), { hasDaemonSet: false }],
  [
    'a pod of a deleted DaemonSet with emptyDir also needs its flag',
    pod({ controller: daemonSet, hasEmptyDir: true }),
    FORCE,
    refuse('localStorage'),
    { hasDaemonSet: false },
  ],
  [
    'a DaemonSet of another API group does not count',
    pod({ controller: { ...daemonSet, apiVersion: 'apps.example.com/v1' } }),
    {},
    evict(),
  ],

  ['keeps a static pod', pod({ isMirror: true }), {}, PASS],
  ['keeps a static pod with emptyDir', pod({ isMirror: true, hasEmptyDir: true }), {}, PASS],

  ['waits for a terminating pod', leaving('00'), {}, evict()],
  [
    'skips a pod that has been terminating longer than the limit',
    leaving('49'),
    { skipWaitForDeleteSeconds: 10 },
    PASS,
  ],
  [
    'waits for a pod that has been terminating exactly as long as the limit',
    leaving('50'),
    { skipWaitForDeleteSeconds: 10 },
    evict(),
  ],
  [
    'skips a DaemonSet pod that has been terminating too long',
    leaving('00', { controller: daemonSet }),
    { skipWaitForDeleteSeconds: 10 },
    PASS,
  ],
];

describe('pod filters', () => {
  for (const [name, of, rules, expected, { hasDaemonSet } = { hasDaemonSet: true }] of CASES) {
    test(name, () => {
      assert.deepEqual(judgePod(of, { ...NONE, ...rules }, { now: NOW, hasDaemonSet }), expected);
    });
  }
});

test('looks up DaemonSets only for pods whose outcome depends on them', () => {
  assert.equal(daemonSetOf(agent), 'agent');
  assert.equal(daemonSetOf(managed), undefined);
  assert.equal(daemonSetOf(pod({ controller: daemonSet, phase: 'Succeeded' })), undefined);
});

test('groups pods with the same outcome on one line, and cuts long lists', () => {
  const outcomes = ['a', 'b', 'a'].map((what, index) => ({ what, pod: `ns/${index}` }));
  assert.deepEqual(groupByOutcome(outcomes), ['a: ns/0, ns/2', 'b: ns/1']);
  const many = Array.from({ length: 12 }, (_, index) => ({ what: 'w', pod: `${index}` }));
  assert.deepEqual(groupByOutcome(many), ['w: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more']);
});

test('groups the DaemonSet pods of thousands of nodes in linear time', () => {
  const outcomes = Array.from({ length: 100_000 }, (_, index) => ({ what: 'w', pod: `${index}` }));
  const before = performance.now();
  assert.deepEqual(groupByOutcome(outcomes), ['w: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 99990 more']);
  assert.ok(performance.now() - before < 20_000, 'not in the square of their number, which took a minute');
});
