import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthAnswer } from '../../../../src/commands/reconcile/servers.ts';

test('is ok when every check passes, and without checks', () => {
  assert.deepEqual(healthAnswer({}), { status: 200, body: 'ok' });
  assert.deepEqual(healthAnswer({ ping: () => true, caches: () => true }), { status: 200, body: 'ok' });
});

test('responds 500 when one check fails, with a line for each check in order', () => {
  assert.deepEqual(healthAnswer({ ping: () => true, caches: () => false, lease: () => true }), {
    status: 500,
    body: '[+]ping ok\n[-]caches failed\n[+]lease ok\n',
  });
});

test('runs each check once per request, including those after a failure', () => {
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
