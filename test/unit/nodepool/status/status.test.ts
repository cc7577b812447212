import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeStatus, type PoolObservation } from '../../../../src/nodepool/status/status.ts';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { ALLOCATABLE, ALLOCATABLE_OF_TWO } from '../../../allocatable.ts';
import { aNode, aPool, EMPTY_OBSERVATION } from '../fixtures.ts';

const NOW = '2026-03-01T00:00:00Z';

test('computes the numbers of the sample from its two nodes', () => {
  const members = [aNode({ name: 'a', allocatable: ALLOCATABLE }), aNode({ name: 'b', allocatable: ALLOCATABLE })];
  const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW);
  assert.equal(status.status, 200);
  assert.equal(status.nodeCount, 2);
  assert.deepEqual(status.allocatable, ALLOCATABLE_OF_TWO);
});

test('has a pod count only when pods are counted', () => {
  assert.equal(computeStatus(aPool(), { ...EMPTY_OBSERVATION, podCount: 0 }, NOW).podCount, 0);
  assert.equal(
    'podCount' in
      computeStatus(aPool({}, { status: { status: 200, nodeCount: 1, podCount: 7 } }), EMPTY_OBSERVATION, NOW),
    false,
  );
});

const conflict = { reason: 'NodeConflict', message: 'node a belongs to pool b' } as const;
const cases: [string, Partial<PoolObservation>, number][] = [
  ['no member', {}, 200],
  ['no member is Ready', { members: [aNode({ ready: false }), aNode({ ready: false })] }, 503],
  ['one member is Ready', { members: [aNode({ ready: false }), aNode()] }, 200],
  ['all members are cordoned', { members: [aNode({ unschedulable: true })] }, 200],
  ['a conflict', { members: [aNode()], conflicts: [conflict] }, 409],
  ['a failed write outweighs a conflict', { failures: ['no'], conflicts: [conflict] }, 500],
  ['an invalid spec outweighs all', { specErrors: [{ field: 'spec', message: 'no' }], failures: ['no'] }, 422],
];
for (const [name, observed, want] of cases) {
  test(`status: ${name} is ${want}`, () => {
    const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, ...observed }, NOW);
    assert.equal(status.status, want);
    assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.status, want === 200 ? 'True' : 'False');
  });
}

test('counts ready and unschedulable members', () => {
  const members = [aNode({ ready: false }), aNode({ unschedulable: true }), aNode()];
  const { readyNodeCount, unschedulableNodeCount } = computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW);
  assert.deepEqual([readyNodeCount, unschedulableNodeCount], [2, 1]);
});

test('omits an unreadable quantity from the sum, and reports it without a failed write', () => {
  const members = [
    aNode({ allocatable: ALLOCATABLE }),
    aNode({ name: 'odd', allocatable: { cpu: '1Kii', pods: '1' } }),
  ];
  const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW);
  assert.deepEqual([status.status, status.allocatable?.cpu, status.allocatable?.pods], [500, '4', '111']);
  const condition = (type: string) => status.conditions?.find(candidate => candidate.type === type);
  assert.equal(condition('Applied')?.status, 'True');
  assert.equal(condition('Ready')?.reason, 'UnreadableQuantity');
  assert.equal(condition('Ready')?.message, `node odd: allocatable cpu "1Kii": unable to parse quantity's suffix`);
});

test('cuts a long quantity in a message', () => {
  const members = [aNode({ name: 'odd', allocatable: { cpu: `x${'9'.repeat(500)}` } })];
  const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW);
  const message = status.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  assert.match(message, /^node odd: allocatable cpu "x9{56}…": quantities must match/);
});

test('limits a message to 1 KiB', () => {
  const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, failures: ['x'.repeat(100_000), 'y'] }, NOW);
  const message = status.conditions?.find(({ type }) => type === 'Applied')?.message ?? '';
  assert.ok(message.length < 1100);
  assert.match(message, /x…; y$/);
});

test('keeps lastTransitionTime until the condition changes', () => {
  const first = computeStatus(aPool(), EMPTY_OBSERVATION, '2026-01-01T00:00:00Z');
  const second = computeStatus(aPool({}, { status: first }), EMPTY_OBSERVATION, NOW);
  assert.deepEqual(second, first);
  const third = computeStatus(aPool({}, { status: first }), { ...EMPTY_OBSERVATION, conflicts: [conflict] }, NOW);
  const times = Object.fromEntries((third.conditions ?? []).map(c => [c.type, c.lastTransitionTime]));
  assert.deepEqual(times, { Ready: NOW, Conflict: NOW, Applied: '2026-01-01T00:00:00Z' });
});

test('sets observedGeneration of an inherited pool only once its spec is fully applied', () => {
  const inherited = aPool({}, { finalizers: [FINALIZER], status: { status: 200, nodeCount: 1 } });
  assert.equal(computeStatus(inherited, { ...EMPTY_OBSERVATION, failures: ['no'] }, NOW).observedGeneration, undefined);
  assert.equal(computeStatus(inherited, EMPTY_OBSERVATION, NOW).observedGeneration, 1);
  assert.equal(computeStatus(aPool(), { ...EMPTY_OBSERVATION, failures: ['no'] }, NOW).observedGeneration, 1);
});
