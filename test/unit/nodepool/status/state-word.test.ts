import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LiveState, stateText, stateWord } from '../../../../src/nodepool/status/state-word.ts';
import {
  type Condition,
  type NodePool,
  type NodePoolStatus,
  RESUMED_ANNOTATION,
} from '../../../../src/nodepool/types.ts';
import { aPool } from '../fixtures.ts';

const LIVE: LiveState = {
  ...{ nodes: 3, ready: 3, due: 0, drifted: 0 },
  ...{ isInvalid: false, losesNodes: false, isStartupStuck: false },
};
const deletionTimestamp = '2026-11-21T08:59:59Z';

/** A pool whose status describes its current spec. */
function reconciled(status: Partial<NodePoolStatus> = {}, { paused = false, ...metadata }: Meta = {}): NodePool {
  const pool = aPool(paused ? { paused } : {}, { generation: 2, ...metadata });
  return { ...pool, status: { status: 200, nodeCount: 3, observedGeneration: 2, ...status } };
}

type Meta = Partial<NodePool['metadata']> & { paused?: boolean };

function conditions(type: Condition['type'], reason = '', status: Condition['status'] = 'True') {
  return { conditions: [{ type, reason, status, message: 'x', lastTransitionTime: '' }] };
}

function ofDeletion(observedGeneration: number) {
  const applied = { type: 'Applied', status: 'False', reason: 'WriteFailed', message: 'x' } as const;
  return { conditions: [{ ...applied, lastTransitionTime: '', observedGeneration }] };
}

function withHandler(pool: NodePool): NodePool {
  return { ...pool, spec: { ...pool.spec, handler: 'gvisor' } };
}

const stopped = {
  conditions: conditions('Progressing', 'RolloutStopped', 'False').conditions.map(each => ({
    ...each,
    lastTransitionTime: '2026-11-21T08:00:00Z',
  })),
};

test('returns the state word of the last status', () => {
  const old = { observedGeneration: 1 };
  const cases: [pool: NodePool, word: string][] = [
    [reconciled(), 'Ready'],
    [reconciled({ nodeCount: 0 }), 'Empty'],
    [reconciled({ readyNodeCount: 1 }), 'Ready'],
    [reconciled({ status: 503 }), 'NotReady'],
    [reconciled({ readyNodeCount: 0 }), 'NotReady'],
    [reconciled({ status: 409 }), 'Conflict'],
    [reconciled({ status: 422 }), 'Invalid'],
    [reconciled({ status: 500 }), 'Failing'],
    [reconciled({ status: 418 }), 'Failing'],
    [reconciled({ updatedNodeCount: 2 }), 'Pending'],
    [aPool({}, { generation: 1 }), 'Pending'],
    [aPool({ paused: true }), 'Paused'],
    // The earlier operator wrote no generation.
    [{ ...aPool({}, { generation: 2 }), status: { status: 200, nodeCount: 1 } }, 'Ready'],
    // What an older spec was says nothing of this one.
    [reconciled(old), 'Pending'],
    [reconciled({ ...old, status: 409 }), 'Pending'],
    [reconciled({ ...old, nodeCount: 0 }), 'Pending'],
    [reconciled(old, { paused: true }), 'Paused'],
    [reconciled({}, { deletionTimestamp }), 'Deleting'],
    [reconciled({ status: 500, ...ofDeletion(3) }, { deletionTimestamp, generation: 3 }), 'Deleting,Failing'],
    // What the pool was before its deletion does not matter.
    [reconciled({ status: 500, ...ofDeletion(2) }, { deletionTimestamp, generation: 3 }), 'Deleting'],
    [reconciled({ status: 503 }, { deletionTimestamp, generation: 3 }), 'Deleting'],
    [aPool({}, { deletionTimestamp }), 'Deleting'],
    [reconciled(conditions('Progressing', 'RolloutInProgress')), 'Progressing'],
    [reconciled(conditions('Progressing', 'RolloutStopped', 'False')), 'Stopped'],
    [reconciled(conditions('Progressing', 'RolloutComplete', 'False')), 'Ready'],
    [reconciled({ status: 503, ...conditions('Progressing', 'RolloutStopped', 'False') }), 'Stopped'],
    [
      reconciled(
        { updatedNodeCount: 1, ...stopped },
        { annotations: { [RESUMED_ANNOTATION]: '2026-11-21T08:00:00Z' } },
      ),
      'Pending',
    ],
    [reconciled({ updatedNodeCount: 2, ...conditions('Reconciling', 'DrainingPods') }), 'Progressing'],
    [reconciled(conditions('Contested')), 'Contested'],
    [reconciled(conditions('StartupTaintsStuck')), 'StartupTaintsStuck'],
    [reconciled({ status: 503, ...conditions('Contested') }), 'NotReady'],
  ];
  for (const [pool, text] of cases) assert.equal(stateText(pool), text, JSON.stringify(pool));
});

test('returns the state word of the current nodes', () => {
  const old = { observedGeneration: 1 };
  const cases: [pool: NodePool, live: Partial<LiveState>, word: string][] = [
    [reconciled(), {}, 'Ready'],
    [reconciled({ status: 503, readyNodeCount: 0 }), {}, 'Ready'],
    [reconciled(), { ready: 0 }, 'NotReady'],
    [reconciled(), { nodes: 0, ready: 0 }, 'Empty'],
    [reconciled(), { due: 2 }, 'Pending'],
    [reconciled(), { due: 2, drifted: 1 }, 'Drifted'],
    [reconciled(), { isInvalid: true }, 'Invalid'],
    [reconciled(), { losesNodes: true }, 'Conflict'],
    [reconciled({ status: 409, ...conditions('Conflict', 'NodeConflict') }), {}, 'Ready'],
    [reconciled({ status: 409, ...conditions('Conflict', 'RuntimeClassConflict') }), {}, 'Conflict'],
    [reconciled(), { rollout: 'Stopped', ready: 0 }, 'Stopped'],
    [reconciled(), { isStartupStuck: true }, 'StartupTaintsStuck'],
    [reconciled(conditions('StartupTaintsStuck')), {}, 'Ready'],
    [reconciled({ status: 500 }), {}, 'Failing'],
    [reconciled(), { rollout: 'Progressing', due: 1, drifted: 1 }, 'Progressing'],
    // Paused, resumed and finished since the last reconcile.
    [reconciled(old, { paused: true }), { due: 1, drifted: 1 }, 'Paused'],
    [reconciled({ ...old, ...conditions('Progressing', 'Paused', 'False') }), {}, 'Ready'],
    [reconciled(conditions('Progressing', 'RolloutInProgress')), {}, 'Ready'],
    [reconciled(old), { due: 3 }, 'Pending'],
    [reconciled(old), {}, 'Ready'],
    [withHandler(reconciled(old)), {}, 'Pending'],
    [withHandler(reconciled()), {}, 'Ready'],
    [aPool(), {}, 'Pending'],
    [aPool(), { losesNodes: true }, 'Conflict'],
    [reconciled({}, { deletionTimestamp }), { isInvalid: true }, 'Deleting'],
  ];
  for (const [pool, live, word] of cases)
    assert.equal(stateWord(pool, { ...LIVE, ...live }), word, JSON.stringify(pool));
});
