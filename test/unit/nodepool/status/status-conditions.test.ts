/** The messages and reasons of a pool's conditions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  computeStatus,
  type PoolObservation,
  STATUS_WORDS,
  troubleIn,
} from '../../../../src/nodepool/status/status.ts';
import type { Condition, NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, EMPTY_OBSERVATION } from '../fixtures.ts';

const NOW = '2026-03-01T00:00:00Z';
const conflict = { reason: 'NodeConflict', message: 'node a belongs to pool b' } as const;
const foreignClass = { reason: 'RuntimeClassConflict', message: 'RuntimeClass x is not ours' } as const;
const compute = (observed: Partial<PoolObservation>) =>
  computeStatus(aPool(), { ...EMPTY_OBSERVATION, ...observed }, NOW);

/** Status, reason and message of each condition. */
function said({ conditions = [] }: NodePoolStatus) {
  return Object.fromEntries(conditions.map(({ type, status, reason, message }) => [type, [status, reason, message]]));
}

const ALL_APPLIED = 'every member has the labels and taints of the pool';

test('reports an up-to-date pool as ready', () => {
  assert.deepEqual(said(compute({ members: [aNode(), aNode({ name: 'b' })] })), {
    Ready: ['True', 'PoolReady', '2 of 2 nodes are Ready'],
    Applied: ['True', 'Applied', ALL_APPLIED],
    Conflict: ['False', 'NoConflict', ''],
  });
  assert.equal(said(compute({ members: [aNode()] })).Ready?.[2], '1 of 1 node is Ready');
  assert.equal(said(compute({})).Ready?.[2], '0 of 0 nodes are Ready');
});

test('reports a pool without Ready members', () => {
  assert.deepEqual(said(compute({ members: [aNode({ ready: false })] })), {
    Ready: ['False', 'NoReadyNode', '0 of 1 node is Ready'],
    Applied: ['True', 'Applied', ALL_APPLIED],
    Conflict: ['False', 'NoConflict', ''],
  });
});

test('uses the reason of the first conflict, and names all conflicts', () => {
  assert.deepEqual(said(compute({ conflicts: [conflict] })), {
    Ready: ['False', 'NodeConflict', 'see condition Conflict'],
    Applied: ['True', 'Applied', ALL_APPLIED],
    Conflict: ['True', 'NodeConflict', conflict.message],
  });
  const both = said(compute({ conflicts: [foreignClass, conflict] }));
  assert.deepEqual(both.Conflict, [
    'True',
    'RuntimeClassConflict',
    'RuntimeClass x is not ours; node a belongs to pool b',
  ]);
  assert.equal(both.Ready?.[1], 'RuntimeClassConflict');
});

test('reports failed writes and unreadable quantities as Stalled', () => {
  const failed = {
    Ready: ['False', 'WriteFailed', 'see condition Applied'],
    Applied: ['False', 'WriteFailed', 'no; never'],
    Conflict: ['False', 'NoConflict', ''],
    Stalled: ['True', 'WriteFailed', 'no; never'],
  };
  const failures = ['no', 'never'];
  assert.deepEqual(said(compute({ failures })), failed);
  const members = [aNode({ name: 'a', allocatable: { cpu: 'x' } })];
  const unreadable = said(compute({ members })).Ready;
  assert.equal(unreadable?.[1], 'UnreadableQuantity');
  assert.deepEqual(said(compute({ members })).Stalled, ['True', ...unreadable.slice(1)]);
  assert.deepEqual(said(compute({ members, failures })).Stalled, failed.Stalled);
});

test('reports members that differ, with and without failed writes', () => {
  const members = ['a', 'b', 'c'].map(name => aNode({ name }));
  const differ = '2 of 3 nodes differ from the labels and taints of the pool';
  const drifted = compute({ members, differing: ['c', 'a'] });
  assert.deepEqual([drifted.status, drifted.nodeCount, drifted.updatedNodeCount], [200, 3, 1]);
  assert.deepEqual(said(drifted), {
    Ready: ['True', 'PoolReady', '3 of 3 nodes are Ready'],
    Applied: ['False', 'NodesNotUpdated', `${differ}: a, c`],
    Conflict: ['False', 'NoConflict', ''],
  });
  const failed = compute({ members, differing: ['c', 'a'], failures: ['no'] });
  assert.deepEqual(said(failed).Applied, ['False', 'WriteFailed', `${differ}; no`]);
  const one = said(compute({ members: [aNode({ name: 'a' })], differing: ['a'] })).Applied?.[2];
  assert.equal(one, '1 of 1 node differs from the labels and taints of the pool: a');
  const invalid = compute({ members, specErrors: [{ field: 'spec', message: 'no' }] });
  assert.equal('updatedNodeCount' in invalid, false);
});

test('reports an invalid spec', () => {
  const specErrors = [
    { field: 'spec.handler', message: 'is wrong' },
    { field: 'spec.taints', message: 'too' },
  ];
  const invalid = 'spec.handler: is wrong; spec.taints: too';
  assert.deepEqual(said(compute({ specErrors })), {
    Ready: ['False', 'InvalidSpec', invalid],
    Applied: ['False', 'InvalidSpec', invalid],
    Conflict: ['False', 'NoConflict', ''],
    Stalled: ['True', 'InvalidSpec', invalid],
  });
  const failing = said(compute({ specErrors, failures: ['no'] }));
  assert.deepEqual(failing.Applied, ['False', 'InvalidSpec', `${invalid}; no`]);
});

test('shows five messages and counts the rest', () => {
  const sentences = (count: number) => Array.from({ length: count }, (_, index) => `f${index + 1}`);
  const message = (count: number) => said(compute({ failures: sentences(count) })).Applied?.[2];
  assert.equal(message(5), 'f1; f2; f3; f4; f5');
  assert.equal(message(6), 'f1; f2; f3; f4; f5; and 1 more');
  assert.equal(message(9), 'f1; f2; f3; f4; f5; and 4 more');
});

test('sets observedGeneration on conditions when the pool has a generation', () => {
  const generations = ({ conditions = [] }: NodePoolStatus) => conditions.map(each => each.observedGeneration);
  const status = computeStatus(aPool({}, { generation: 3 }), EMPTY_OBSERVATION, NOW);
  assert.deepEqual([status.observedGeneration, ...generations(status)], [3, 3, 3, 3]);
  const { generation: _, ...metadata } = aPool().metadata;
  const without = computeStatus({ ...aPool(), metadata }, EMPTY_OBSERVATION, NOW);
  assert.equal('observedGeneration' in without, false);
  assert.ok(without.conditions?.every(condition => !('observedGeneration' in condition)));
});

test('contested keys set their own condition, and the pool stays Ready', () => {
  const observed = { members: [aNode()], contested: 'others keep changing it' };
  const status = compute(observed);
  assert.deepEqual(said(status).Contested, ['True', 'RepeatedRepairs', 'others keep changing it']);
  assert.deepEqual([status.status, said(status).Ready?.[0], said(status).Applied?.[0]], [200, 'True', 'True']);
  const over = computeStatus(aPool({}, { status }), { ...EMPTY_OBSERVATION, members: [aNode()] }, NOW);
  assert.equal(said(over).Contested, undefined);
});

test('names what blocks the release of a pool', () => {
  const stuck = { isReleased: true, members: [aNode()], differing: ['a'], failures: ['node a: refused'] };
  assert.deepEqual(said(compute(stuck)), {
    Ready: ['False', 'WriteFailed', 'see condition Applied'],
    Applied: [
      'False',
      'WriteFailed',
      'cannot release the pool: 1 node still has its labels and taints: a; node a: refused',
    ],
    Conflict: ['False', 'NoConflict', ''],
    Stalled: [
      'True',
      'WriteFailed',
      'cannot release the pool: 1 node still has its labels and taints: a; node a: refused',
    ],
  });
  assert.deepEqual(said(compute({ isReleased: true })).Applied, ['True', 'Released', 'every node is released']);
});

test('keeps conditions of others after its own', () => {
  const theirs = { type: 'Theirs', status: 'Unknown', reason: 'R', message: '', lastTransitionTime: NOW };
  const before = { ...compute({}), conditions: [theirs as unknown as Condition, ...(compute({}).conditions ?? [])] };
  const { conditions } = computeStatus(aPool({}, { status: before }), EMPTY_OBSERVATION, NOW);
  assert.deepEqual(
    conditions?.map(({ type }) => type),
    ['Ready', 'Applied', 'Conflict', 'Theirs'],
  );
  assert.equal(conditions?.at(-1), theirs);
});

test('troubleIn() returns the most important condition with a problem', () => {
  const trouble = (observed: Partial<PoolObservation>) => troubleIn(compute(observed))?.type;
  assert.equal(trouble({}), undefined);
  assert.equal(trouble({ failures: ['no'], conflicts: [conflict] }), 'Applied');
  assert.equal(trouble({ conflicts: [conflict] }), 'Conflict');
  assert.equal(trouble({ members: [aNode({ ready: false })] }), 'Ready');
  assert.deepEqual([troubleIn(undefined), troubleIn({ status: 200, nodeCount: 0 })], [undefined, undefined]);
  const unknown = {
    ...compute({}),
    conditions: [{ ...(compute({}).conditions?.[0] as Condition), status: 'Unknown' }],
  };
  assert.equal(troubleIn(unknown as NodePoolStatus)?.status, 'Unknown');
});

test('maps each status value to a word', () => {
  assert.deepEqual(STATUS_WORDS, { 200: 'Normal', 409: 'Conflict', 422: 'Invalid', 500: 'Failing', 503: 'NotReady' });
});
