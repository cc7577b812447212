import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logAnswer, logRequest, userAgent } from '../../../../src/kube/transport/request-log.ts';

test('uses the platform and architecture names of Go in the User-Agent', () => {
  assert.equal(userAgent('1.2.3', 'linux', 'x64'), 'kubectl-nodepool/1.2.3 (linux/amd64)');
  assert.equal(userAgent('1.2.3', 'darwin', 'arm64'), 'kubectl-nodepool/1.2.3 (darwin/arm64)');
  assert.equal(userAgent('1.2.3', 'win32', 'x64'), 'kubectl-nodepool/1.2.3 (windows/amd64)');
});

test('redacts credentials and cuts long bodies in the log', () => {
  const lines: string[] = [];
  const log = (level: number, text: () => string) => lines.push(`${level} ${text()}`);
  logRequest(log, { authorization: 'Bearer secret', Accept: 'application/json' }, '{"a":1}');
  const headers = { server: 's', 'set-cookie': ['session=secret'] };
  const answer = { status: 200, headers, text: 'x'.repeat(20_000), bytes: 20_000 };
  logAnswer(log, 'GET', new URL('https://s/api'), answer, 12.4);
  assert.deepEqual(lines.slice(0, 4), [
    '8 request headers: authorization: <hidden>, Accept: application/json',
    '8 request body: {"a":1}',
    '6 GET https://s/api 200 in 12 ms',
    '8 answer headers: {"server":"s","set-cookie":"<hidden>"}',
  ]);
  assert.equal(lines[4], `8 answer body: ${'x'.repeat(10_240)}… (20000 characters)`);
});
