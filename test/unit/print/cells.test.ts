import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePool } from '../../../src/nodepool/types.ts';
import { listText, statusCell } from '../../../src/print/cells.ts';
import { makeStyle } from '../../../src/print/style.ts';
import { aPool } from '../nodepool/fixtures.ts';

test('says that a status is of an older generation', () => {
  const deletionTimestamp = '2026-11-21T08:59:59Z';
  const cases: [metadata: Partial<NodePool['metadata']>, status: NodePool['status'], text: string][] = [
    [{ generation: 2 }, { status: 200, nodeCount: 0, observedGeneration: 2 }, '200'],
    [{ generation: 2 }, { status: 200, nodeCount: 0, observedGeneration: 1 }, '200,Stale'],
    [{ generation: 2 }, { status: 409, nodeCount: 0, observedGeneration: 1 }, '409,Conflict,Stale'],
    // The earlier operator wrote no generation.
    [{ generation: 2 }, { status: 200, nodeCount: 0 }, '200'],
    // The deletion changed the generation.
    [{ generation: 2, deletionTimestamp }, { status: 200, nodeCount: 0, observedGeneration: 1 }, '200,Deleting'],
    [{ generation: 2 }, undefined, 'Pending'],
  ];
  for (const [metadata, status, text] of cases) {
    const cell = statusCell({ ...aPool({}, metadata), ...(status && { status }) }, makeStyle(false));
    assert.equal(typeof cell === 'string' ? cell : cell.text, text);
  }
});

test('says that a pool is paused, or that its rollout is under way or stopped', () => {
  const shown = (reason: string, paused = false) => {
    const condition = {
      type: 'Progressing' as const,
      status: 'False' as const,
      reason,
      message: '',
      lastTransitionTime: '',
    };
    const status = { status: 200, nodeCount: 1, observedGeneration: 1, conditions: [condition] };
    const cell = statusCell({ ...aPool(paused ? { paused } : {}, { generation: 1 }), status }, makeStyle(false));
    return typeof cell === 'string' ? cell : cell.text;
  };
  const reasons = ['RolloutInProgress', 'RolloutStopped', 'RolloutComplete'];
  assert.deepEqual(
    reasons.map(reason => shown(reason)),
    ['200,Progressing', '200,Stopped', '200'],
  );
  assert.equal(shown('Paused', true), '200,Paused');
});

test('says that others keep changing what a pool sets, or that nobody lifts its startup taints', () => {
  const shown = (code: number, ...types: ('Contested' | 'StartupTaintsStuck')[]) => {
    const rest = { status: 'True' as const, reason: '', message: 'x', lastTransitionTime: '' };
    const status = { status: code, nodeCount: 1, observedGeneration: 1 };
    const conditions = types.map(type => ({ type, ...rest }));
    const cell = statusCell({ ...aPool({}, { generation: 1 }), status: { ...status, conditions } }, makeStyle(false));
    return typeof cell === 'string' ? cell : cell.text;
  };
  assert.equal(shown(200, 'StartupTaintsStuck'), '200,StartupTaintsStuck');
  assert.equal(shown(200, 'StartupTaintsStuck', 'Contested'), '200,Contested');
  assert.equal(shown(503, 'StartupTaintsStuck'), shown(503));
});

test('shortens a list to the width, with the number of further items', () => {
  const texts = ['aaaa', 'bbbb', 'cccc'];
  const cases: [texts: string[], width: number, shown: string][] = [
    [[], 3, '<none>'],
    [['too long'], 3, 'too long'],
    [texts, Infinity, 'aaaa,bbbb,cccc'],
    [texts, 14, 'aaaa,bbbb,cccc'],
    [texts, 13, 'aaaa,bbbb,+1'],
    [texts, 12, 'aaaa,bbbb,+1'],
    [texts, 11, 'aaaa,+2'],
    [texts, 3, 'aaaa,+2'],
  ];
  for (const [list, width, shown] of cases) assert.equal(listText(list, width), shown, `${width}`);
});
