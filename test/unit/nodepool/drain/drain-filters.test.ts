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
  ['what has a controller goes', managed, {}, evict()],
  ['what has none needs --force', pod(), {}, refuse('noController')],
  ['and goes with it', pod(), FORCE, evict('noController')],
  ['unless it has ended well', pod({ phase: 'Succeeded' }), {}, evict()],
  ['or badly', pod({ phase: 'Failed' }), {}, evict()],
  ['a pending one has not', pod({ phase: 'Pending' }), {}, refuse('noController')],

  ['local data needs its flag', pod({ controller: replicaSet, hasEmptyDir: true }), {}, refuse('localStorage')],
  ['--force is not that flag', pod({ controller: replicaSet, hasEmptyDir: true }), FORCE, refuse('localStorage')],
  ['with it', pod({ controller: replicaSet, hasEmptyDir: true }), EMPTY_DIR, evict('localStorage')],
  ['the data of what has ended is nobody’s', pod({ hasEmptyDir: true, phase: 'Failed' }), {}, evict()],
  ['both reasons are reported', pod({ hasEmptyDir: true }), {}, refuse('localStorage', 'noController')],
  ['one is allowed', pod({ hasEmptyDir: true }), FORCE, refuse('localStorage')],
  ['both are', pod({ hasEmptyDir: true }), { ...FORCE, ...EMPTY_DIR }, evict('localStorage', 'noController')],

  ['a DaemonSet’s needs its flag', agent, {}, refuse('daemonSet')],
  ['which leaves it', agent, IGNORE, KEEP],
  ['whatever else is allowed', agent, { ...IGNORE, ...FORCE, ...EMPTY_DIR }, KEEP],
  ['--force alone does not take it', agent, FORCE, refuse('daemonSet')],
  ['one that has ended goes', pod({ controller: daemonSet, phase: 'Failed' }), {}, evict()],
  ['an orphan needs --force', agent, IGNORE, refuse('orphan'), { hasDaemonSet: false }],
  ['and goes', agent, FORCE, evict('orphan'), { hasDaemonSet: false }],
  [
    'with its data, if that is allowed',
    pod({ controller: daemonSet, hasEmptyDir: true }),
    FORCE,
    refuse('localStorage'),
    { hasDaemonSet: false },
  ],
  [
    'the kind alone makes no DaemonSet',
    pod({ controller: { ...daemonSet, apiVersion: 'apps.example.com/v1' } }),
    {},
    evict(),
  ],

  ['a static pod stays', pod({ isMirror: true }), {}, PASS],
  ['also with data', pod({ isMirror: true, hasEmptyDir: true }), {}, PASS],

  ['what is leaving is waited for', leaving('00'), {}, evict()],
  ['too long', leaving('49'), { skipWaitForDeleteSeconds: 10 }, PASS],
  ['not yet too long', leaving('50'), { skipWaitForDeleteSeconds: 10 }, evict()],
  ['whatever it is', leaving('00', { controller: daemonSet }), { skipWaitForDeleteSeconds: 10 }, PASS],
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
  assert.ok(performance.now() - before < 2000, 'not in the square of their number, which took a minute');
});
