/** Why a node is not written, and what was written before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../src/nodepool/plan/plan.ts';
import { NodeWriteError, withMove, withoutMove } from '../../../../src/reconciler/outcome.ts';
import { limitError } from '../../../../src/reconciler/write/write-errors.ts';

const limit = 'node n1 was written 10 times within a minute, which is the limit';
const label: Change = { kind: 'label', key: 'tier', action: 'change', from: 'theirs', to: 'gold', reason: 'drift' };
const taint: Change = { kind: 'taint', key: 'own', effect: 'NoSchedule', action: 'add', to: 'x', reason: 'drift' };
const stripped: Change = { kind: 'label', key: 'more', action: 'remove', from: 'x', reason: 'unmanaged' };
const own: Change = { ...label, key: 'own', reason: 'spec' };

/** The error for changes that others made necessary, and the fields whose managers were read. */
async function contested(changes: Change[], manager: string | undefined = undefined) {
  const asked: string[] = [];
  const fieldManager = async (node: string, path: readonly string[]) => {
    asked.push(`${node}: ${path.join(' ')}`);
    return manager;
  };
  const { message, next, kind } = await limitError('n1', changes, true, { fieldManager });
  return { message, next, kind, asked };
}

test('the limit: names labels and taints that others keep changing, and who changes them', async () => {
  const next = 'stop it, or take what it changes out of the pool';
  assert.deepEqual(await contested([label], 'kubectl'), {
    message: `${limit}: something else (field manager kubectl) keeps changing label tier from "gold" to "theirs"`,
    next,
    kind: 'cluster',
    asked: ['n1: metadata labels tier'],
  });
  assert.deepEqual(await contested([taint, stripped], 'agent'), {
    message: `${limit}: something else (field manager agent) keeps removing taint own:NoSchedule, setting label more to "x"`,
    next,
    kind: 'cluster',
    asked: ['n1: spec taints'],
  });
});

test('the limit: names an annotation, with long values cut', async () => {
  const note: Change = { ...label, kind: 'annotation', key: 'note', from: 'x'.repeat(1000) };
  const { message, asked } = await contested([note], 'agent');
  assert.deepEqual(asked, ['n1: metadata annotations note']);
  assert.match(message, /keeps changing annotation note from "gold" to "x{150,200}…"$/);
});

test("the limit: names three changes of others, and none of the pool's own", async () => {
  const { message } = await contested([own, label, taint, stripped, { ...stripped, key: 'fourth' }]);
  assert.equal(
    message,
    `${limit}: something else keeps changing label tier from "gold" to "theirs", removing taint own:NoSchedule, setting label more to "x"`,
  );
});

test("the limit: blames the pool's own changes when nothing of others is to be repaired", async () => {
  const { message, next, asked } = await contested([own]);
  assert.deepEqual(
    [message, next, asked],
    [limit, 'wait a minute, and find out what changes its pool or its labels so often', []],
  );
});

test('the limit: leaves out a field manager that cannot be read; throws a bug', async () => {
  const failing = (error: Error) => ({
    fieldManager: async () => {
      throw error;
    },
  });
  const refused = await limitError('n1', [label], true, failing(new NodepoolError('cluster', 'forbidden')));
  assert.equal(refused.message, `${limit}: something else keeps changing label tier from "gold" to "theirs"`);
  await assert.rejects(limitError('n1', [label], true, failing(new TypeError('a bug'))), TypeError);
});

const move = { node: 'n1', from: 'a', to: 'b', changes: [label] };
const plain = new NodepoolError('cluster', 'cannot patch', 'ask', { items: ['x'], isGeneral: true, isTransient: true });

test('an error with a move has the same message as without', () => {
  const error = withMove(plain, move);
  const { kind, lines, next, isGeneral, isTransient, cause, retryAfterMs, isThrottled } = error;
  assert.deepEqual([kind, lines, next, isGeneral, isTransient], ['cluster', ['cannot patch', 'x'], 'ask', true, true]);
  assert.deepEqual([cause, retryAfterMs, isThrottled, error.move], [plain, undefined, false, move]);
});

test('passes the move to the first caller only, and the retry time to all', () => {
  const held = new NodeWriteError(plain, { retryAfterMs: 7, isThrottled: true });
  const moved = withMove(held, move);
  assert.deepEqual([moved.move, moved.retryAfterMs, moved.isThrottled, moved.message], [move, 7, true, held.message]);
  assert.equal(withMove(moved, { ...move, to: 'c' }), moved, 'it has all of the move already');
  const shared = withoutMove(moved);
  assert.ok(shared instanceof NodeWriteError);
  assert.deepEqual([shared.move, shared.retryAfterMs, shared.isThrottled], [undefined, 7, true]);
  assert.equal(shared.message, held.message);
  for (const error of [held, plain, new TypeError('a bug')]) assert.equal(withoutMove(error), error);
});
