/** Failed writes, and how those of many nodes are merged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import {
  collectFailure,
  failureOf,
  messagesOf,
  summarized,
  WriteError,
  type WriteFailure,
} from '../../../src/reconciler/outcome.ts';

const refused = new NodepoolError('cluster', 'cannot patch Node "a": invalid:', 'mend it', { items: ['x', 'y'] });

test('returns a refusal with its node and next step, and rethrows bugs', async () => {
  const failures: WriteFailure[] = [];
  assert.equal(await collectFailure(failures, async () => {}, 'a'), undefined);
  assert.deepEqual(failures, []);
  const fail = async () => {
    throw refused;
  };
  assert.equal(await collectFailure(failures, fail, 'a'), refused);
  assert.deepEqual(failures, [{ message: 'cannot patch Node "a": invalid: x; y', next: 'mend it', node: 'a' }]);
  assert.deepEqual(messagesOf(failures), ['cannot patch Node "a": invalid: x; y']);
  const bug = new TypeError('a bug');
  const thrown = collectFailure(failures, async () => {
    throw bug;
  });
  await assert.rejects(thrown, error => error === bug);
  assert.equal(failures.length, 1);
});

test('reports that a write was not attempted', () => {
  const held = new WriteError(refused, { retryAfterMs: 1, isThrottled: true });
  const tried = new WriteError(refused, { retryAfterMs: 1, isThrottled: false });
  assert.deepEqual([failureOf(held).isThrottled, 'isThrottled' in failureOf(tried)], [true, false]);
});

const ofNodes = (names: string[], message: (name: string) => string): WriteFailure[] =>
  names.map(node => ({ message: message(node), next: 'ask', node }));

test('merges failures that differ only in the node name, with the count and first node', () => {
  assert.deepEqual(summarized(ofNodes(['a', 'b', 'c'], node => `cannot patch Node "${node}": forbidden`)), [
    { message: 'cannot patch 3 nodes: forbidden (first: a)', next: 'ask' },
  ]);
  assert.deepEqual(summarized(ofNodes(['a', 'b'], node => `node ${node} was written 10 times`)), [
    { message: '2 nodes were written 10 times (first: a)', next: 'ask' },
  ]);
  assert.deepEqual(summarized(ofNodes(['a', 'b'], () => 'the server is away')), [
    { message: 'the server is away (2 nodes, first: a)', next: 'ask' },
  ]);
});

test('keeps the message of a failure of one node or of no node', () => {
  const alone = ofNodes(['a'], node => `cannot patch Node "${node}": forbidden`);
  const general = { message: 'RuntimeClass x is changed all the time', next: undefined };
  assert.deepEqual(summarized([...alone, general, general]), [
    { message: 'cannot patch Node "a": forbidden', next: 'ask' },
    general,
  ]);
  assert.deepEqual(summarized([]), []);
});

test('reports ten kinds of failures, and counts the nodes of the others', () => {
  const kinds = (count: number) => Array.from({ length: count }, (_, index) => ({ message: `failure ${index}` }));
  assert.deepEqual(
    summarized(kinds(10)).map(({ message }) => message),
    messagesOf(kinds(10)),
  );
  const [eleventh, twelfth] = [ofNodes(['a', 'b'], node => `node ${node} was lost`), ofNodes(['a'], () => 'other')];
  const reported = summarized([...kinds(10), ...eleventh, ...twelfth]);
  assert.deepEqual([reported.length, reported.at(-1)], [11, { message: 'and 3 more' }]);
});
