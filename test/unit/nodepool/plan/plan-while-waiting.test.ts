/** Changes of a member that waits for its turn in a rollout. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import type { Node, NodePoolSpec, Taint } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { planWhileWaiting } from './plan-view.ts';

const STAMP = { changed: '2026-05-01T12:00:00Z', rollout: 'abcdef0123' };
const [dedicated, agent] = [taint('dedicated=a:NoSchedule'), taint('agent:NoSchedule')];
const RECORD = {
  pool: 'worker',
  labels: { tier: '1', zone: 'a', gone: 'x' },
  taints: { 'dedicated:NoSchedule': 'a' },
  annotations: { team: 'blue' },
  startup: { 'agent:NoSchedule': '' },
  ...STAMP,
};
const SPEC: NodePoolSpec = {
  labels: { tier: '2', zone: 'a', more: 'y' },
  taints: [taint('dedicated=b:NoSchedule')],
  annotations: { team: 'red' },
  startupTaints: [{ ...agent, until: { nodeCondition: 'AgentReady' } }],
  rollout: {},
};
const LIVE: Partial<Node> = {
  labels: { tier: '1', zone: 'a', gone: 'x' },
  taints: [dedicated, agent],
  annotations: { team: 'blue' },
  keptAnnotations: new Set(['team']),
};

function repair(live: Partial<Node>, spec: NodePoolSpec = SPEC, record: object = RECORD) {
  const raw = recordOf(record);
  const [parsed, node] = [parseRecord(raw), aNode({ ...LIVE, record: raw, ...live })];
  assert.ok(parsed);
  const { patch, changes } = planWhileWaiting(node, parsed, aPool(spec));
  const { resourceVersion: _version, record: next, ...rest } = patch ?? { resourceVersion: '' };
  const what = changes.map(({ kind, action, key, to, reason }) => `${reason}: ${action} ${kind} ${key} ${to}`);
  return { rest, next: next == null ? next : JSON.parse(next), what, isWritten: patch !== undefined };
}

test('applies nothing of the new spec, and writes nothing without drift', () => {
  assert.equal(repair({}).isWritten, false);
  assert.equal(repair({ conditions: ['Other'] }).isWritten, false);
});

test('repairs drift to the value that the pool set', () => {
  const labels = { tier: 'drifted', gone: 'x' };
  assert.deepEqual(repair({ labels }).rest, { labels: { tier: '1', zone: 'a' } });
  assert.deepEqual(repair({ labels }).what, ['drift: change label tier 1', 'drift: add label zone a']);
  const taints: Taint[] = [agent, taint('theirs:NoSchedule')];
  const tainted = repair({ taints });
  assert.deepEqual(tainted.rest, { taints: [...taints, dedicated] });
  assert.deepEqual([tainted.what, tainted.next], [['drift: add taint dedicated a'], undefined], 'the record stays');
  assert.deepEqual(repair({ annotations: { team: 'mine' } }).rest, { annotations: { team: 'blue' } });
});

test('keeps changes to keys that leave the spec or that unmanaged: Remove stripped', () => {
  assert.equal(repair({ labels: { tier: '1', zone: 'a', gone: 'theirs' } }).isWritten, false);
  assert.equal(repair({ labels: { tier: '1', zone: 'a' } }).isWritten, false);
  const stripped = { ...RECORD, labels: { ...RECORD.labels, foreign: null } };
  const spec: NodePoolSpec = { ...SPEC, unmanaged: 'Remove' };
  assert.equal(repair({ labels: { ...LIVE.labels, foreign: 'again', other: 'x' } }, spec, stripped).isWritten, false);
});

test('lifts a startup taint when its condition is True, and records one that somebody removed', () => {
  const lifted = repair({ conditions: ['AgentReady'] });
  assert.deepEqual([lifted.rest, lifted.what], [{ taints: [dedicated] }, ['condition: remove taint agent undefined']]);
  assert.deepEqual(lifted.next, { ...RECORD, startup: { 'agent:NoSchedule': null } });
  const removed = repair({ taints: [dedicated] });
  assert.deepEqual(
    [removed.rest, removed.what, removed.next],
    [{}, [], { ...RECORD, startup: { 'agent:NoSchedule': null } }],
  );
  const left = { ...SPEC, startupTaints: [] };
  assert.equal(repair({ conditions: ['AgentReady'] }, left).isWritten, false, 'it left the spec, and goes with it');
});

test('reports a node without its own record, and one with unread annotations', () => {
  const raw = recordOf(RECORD);
  const record = parseRecord(raw);
  assert.ok(record);
  const implied = planWhileWaiting(aNode({ ...LIVE, labels: {} }), record, aPool(SPEC));
  assert.deepEqual([implied.changes, implied.patch], [[], { resourceVersion: '7', record: raw }], 'it gets one');
  const unread = planWhileWaiting(
    aNode({ ...LIVE, labels: {}, record: raw, keptAnnotations: new Set() }),
    record,
    aPool({ ...SPEC, annotations: { other: 'x' } }),
  );
  assert.equal(unread.kind, 'unread');
});
