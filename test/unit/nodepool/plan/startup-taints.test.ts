/** Startup taints that nobody removes: which, since when, and the status. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STARTING_MS, stuckStartupTaints } from '../../../../src/nodepool/plan/startup-taints.ts';
import { computeStatus } from '../../../../src/nodepool/status/status.ts';
import { aNode, aPool, taint } from '../fixtures.ts';

const setup = { key: 'setup', effect: 'NoExecute' as const };
const pool = aPool({ startupTaints: [setup, { key: 'agent', effect: 'NoSchedule', until: { nodeCondition: 'Up' } }] });
const registered = (name: string, creationTimestamp: string) => aNode({ name, creationTimestamp, taints: [setup] });
const now = () => new Date('2026-01-01T01:00:00Z');

test('stuckStartupTaints() reports a taint after 15 minutes, and before returns the time left', () => {
  const [old, young] = [registered('old', '2026-01-01T00:45:00Z'), registered('young', '2026-01-01T00:50:00Z')];
  assert.deepEqual(stuckStartupTaints(pool, [old, young], now), {
    texts: ['startup taint setup:NoExecute is still on 1 node: old'],
    afterMs: STARTING_MS - 10 * 60_000,
  });
  const other = aNode({
    name: 'b',
    creationTimestamp: '2020-01-01T00:00:00Z',
    taints: [taint('agent=mine:NoSchedule')],
  });
  assert.deepEqual(stuckStartupTaints(pool, [other], now).texts, [
    'startup taint agent=mine:NoSchedule (the pool has agent:NoSchedule, until Up) is still on 1 node: b',
  ]);
  assert.deepEqual(stuckStartupTaints(pool, [aNode()], now), { texts: [], afterMs: undefined });
});

test('sets condition StartupTaintsStuck without failing the pool', () => {
  const observed = {
    members: [aNode()],
    specErrors: [],
    conflicts: [],
    differing: [],
    failures: [],
    podCount: undefined,
    stuckStartup: ['nobody has lifted it'],
  };
  const found = (stuckStartup: string[], before = pool) =>
    computeStatus(before, { ...observed, stuckStartup }, '2026-01-01T01:00:00Z');
  const status = found(['nobody has lifted it']);
  assert.equal(status.status, 200);
  const ofType = ({ conditions = [] }: typeof status) => conditions.find(({ type }) => type === 'StartupTaintsStuck');
  assert.deepEqual([ofType(status)?.status, ofType(status)?.message], ['True', 'nobody has lifted it']);
  assert.equal(ofType(found([], { ...pool, status })), undefined);
});
