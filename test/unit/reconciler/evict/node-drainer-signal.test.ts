/** Drains by the node writer while the process stops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drained, pod } from '../drained.ts';

test('sends nothing after the signal', async () => {
  assert.deepEqual(await drained([pod('a')], { signal: AbortSignal.abort() }).write(), []);
});

test('a signal while pods are listed: no pod is evicted', async () => {
  const stopping = new AbortController();
  const { write, evictions, on } = drained([pod('a')], { signal: stopping.signal });
  evictions.podsOn = async () => {
    stopping.abort();
    return [...on.values()];
  };
  assert.deepEqual(await write(), ['patch n1']);
});

test('a signal during an eviction: the next pod is not evicted', async () => {
  const stopping = new AbortController();
  const { write, evictions } = drained([pod('a'), pod('b')], { signal: stopping.signal });
  const accept = evictions.evict;
  evictions.evict = async (...args) => {
    stopping.abort();
    return accept(...args);
  };
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
});

test('a signal during the last list: the taint is not set', async () => {
  const stopping = new AbortController();
  const { write, clock, evictions, taints } = drained([], { signal: stopping.signal });
  await write();
  await clock.advance(2_600);
  evictions.podsOn = async () => {
    stopping.abort();
    return [];
  };
  assert.deepEqual([await write(), taints()], [[], ['dedicated:NoSchedule']]);
});
