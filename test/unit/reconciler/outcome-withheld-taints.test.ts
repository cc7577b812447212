/** The messages about NoExecute taints that were not set again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeStatus } from '../../../src/nodepool/status/status.ts';
import { moveEvents } from '../../../src/reconciler/events.ts';
import { type NodeMove, withheldTaints } from '../../../src/reconciler/outcome.ts';
import { aPool, EMPTY_OBSERVATION, taint } from '../nodepool/fixtures.ts';

const NOW = '2026-05-01T12:00:00Z';
const move = (node: string): NodeMove => ({
  node,
  from: 'worker',
  to: 'worker',
  changes: [],
  withheld: [taint('agent=x:NoExecute')],
});

test('the Event names the taint, the command and all nodes, including those that left', () => {
  const [event, ...others] = moveEvents([move('b'), move('a')]).get('worker') ?? [];
  assert.deepEqual([event?.type, event?.reason, others], ['Warning', 'TaintNotRestored', []]);
  assert.match(
    event?.note ?? '',
    /agent=x:NoExecute, .* on 2 nodes: .*`kubectl taint nodes NODE agent=x:NoExecute`: a, b$/,
  );
  const left = moveEvents([{ ...move('a'), to: undefined }]).get('worker') ?? [];
  assert.deepEqual(
    left.map(({ reason }) => reason),
    ['NodeLeft', 'TaintNotRestored'],
  );
  assert.match(left[1]?.note ?? '', /`kubectl taint nodes a agent=x:NoExecute`: a$/);
});

test('condition TaintsNotRestored names the taints until the spec changes', () => {
  const conditionOf = (generation: number, before: ReturnType<typeof computeStatus> | undefined, moves: NodeMove[]) => {
    const pool = aPool({}, { generation, ...(before === undefined ? {} : { status: before }) });
    const status = computeStatus(pool, { ...EMPTY_OBSERVATION, withheld: withheldTaints(moves) }, NOW);
    return { status, text: status.conditions?.find(({ type }) => type === 'TaintsNotRestored')?.message };
  };
  const SAYS = (what: string) =>
    `not set again, because they would evict pods: ${what}; to set one: \`kubectl taint nodes NODE TAINT\``;
  const first = conditionOf(2, undefined, [move('a')]);
  assert.equal(first.text, SAYS('taint agent=x:NoExecute of 1 node: a'));
  const again = conditionOf(2, first.status, []);
  assert.deepEqual(again.status, first.status);
  const more = conditionOf(2, again.status, [move('b'), move('a')]);
  assert.equal(more.text, SAYS('taint agent=x:NoExecute of 2 nodes: a, b'));
  assert.equal(conditionOf(3, more.status, []).text, undefined);

  // Node by node, and of another taint: the text does not grow with the nodes.
  let status = more.status;
  for (let at = 0; at < 1_000; at++) status = conditionOf(2, status, [move(`n${at}`)]).status;
  const other = conditionOf(2, status, [{ ...move('c'), withheld: [taint('gone:NoExecute')] }]);
  assert.equal(
    other.text,
    SAYS('taint agent=x:NoExecute of 1002 nodes: a, b, n0, n1, n2 and 997 more; taint gone:NoExecute of 1 node: c'),
  );
});
