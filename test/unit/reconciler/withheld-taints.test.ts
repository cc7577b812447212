/** What is told of NoExecute taints that were not set again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeStatus } from '../../../src/nodepool/status.ts';
import { moveEvents } from '../../../src/reconciler/events.ts';
import { type NodeMove, withheldTexts } from '../../../src/reconciler/node-move.ts';
import { aPool, EMPTY_OBSERVATION, taint } from '../nodepool/fixtures.ts';

const NOW = '2026-05-01T12:00:00Z';
const move = (node: string): NodeMove => ({
  node,
  from: 'worker',
  to: 'worker',
  changes: [],
  withheld: [taint('agent=x:NoExecute')],
});

test('an Event of the pool names the taint, the command and the nodes, also of nodes that left', () => {
  const [event, ...others] = moveEvents([move('b'), move('a')]).get('worker') ?? [];
  assert.deepEqual([event?.type, event?.reason, others], ['Warning', 'TaintNotRestored', []]);
  assert.match(
    event?.note ?? '',
    /agent=x:NoExecute, .* on 2 nodes, .*`kubectl taint nodes NODE agent=x:NoExecute`: a, b$/,
  );
  const left = moveEvents([{ ...move('a'), to: undefined }]).get('worker') ?? [];
  assert.deepEqual(
    left.map(({ reason }) => reason),
    ['NodeLeft', 'TaintNotRestored'],
  );
  assert.match(left[1]?.note ?? '', /`kubectl taint nodes a agent=x:NoExecute`: a$/);
});

test('a condition names them until the spec changes', () => {
  const conditionOf = (
    generation: number,
    before: ReturnType<typeof computeStatus> | undefined,
    withheld: string[],
  ) => {
    const pool = aPool({}, { generation, ...(before === undefined ? {} : { status: before }) });
    const status = computeStatus(pool, { ...EMPTY_OBSERVATION, withheld }, NOW);
    return { status, text: status.conditions?.find(({ type }) => type === 'TaintsNotRestored')?.message };
  };
  const first = conditionOf(2, undefined, withheldTexts([move('a')]));
  assert.match(
    first.text ?? '',
    /^the taint agent=x:NoExecute was not set again on a, .*`kubectl taint nodes a agent=x:NoExecute` sets it$/,
  );
  const again = conditionOf(2, first.status, []);
  assert.deepEqual(again.status, first.status);
  const more = conditionOf(2, again.status, withheldTexts([move('b')]));
  assert.equal(more.text, [...withheldTexts([move('a')]), ...withheldTexts([move('b')])].join('; '));
  assert.equal(conditionOf(3, more.status, []).text, undefined);
});
