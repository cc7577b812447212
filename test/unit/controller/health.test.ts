import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthAnswer } from '../../../src/controller/health.ts';

test('ok when every check is, and when there is none', () => {
  assert.deepEqual(healthAnswer({}), { status: 200, body: 'ok' });
  assert.deepEqual(healthAnswer({ ping: () => true, caches: () => true }), { status: 200, body: 'ok' });
});

test('one that fails is enough for 500; the body has a line for each, in their order', () => {
  assert.deepEqual(healthAnswer({ ping: () => true, caches: () => false, lease: () => true }), {
    status: 500,
    body: '[+]ping ok\n[-]caches failed\n[+]lease ok\n',
  });
});

test('checks are asked at each call, each once, also after one that failed', () => {
  const asked: string[] = [];
  const check = (name: string, good: boolean) => () => {
    asked.push(name);
    return good;
  };
  const checks = { first: check('first', false), second: check('second', true) };
  healthAnswer(checks);
  assert.deepEqual(asked, ['first', 'second']);
  healthAnswer(checks);
  assert.equal(asked.length, 4);
});
