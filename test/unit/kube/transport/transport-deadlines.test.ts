/** Deadlines of requests, and connections after a deadline. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { Credentials } from '../../../../src/kube/auth/credentials.ts';
import { none, transportTo, turnedAway } from './transport-fixture.ts';

test('returns the refusal at once when Retry-After exceeds the deadline', async t => {
  const options = { status: '503 Busy', retryAfter: '20', deadlineMs: 10_000 };
  const { transport, sends } = await turnedAway(t, options);
  const start = performance.now();
  assert.equal((await transport.request({ path: '/' })).status, 503);
  assert.equal(sends(), 1);
  assert.ok(performance.now() - start < 10_000);
});

test('limits the attempts when Retry-After is short', async t => {
  const { transport, sends } = await turnedAway(t, { status: '429 Busy', retryAfter: '0', deadlineMs: 60_000 });
  assert.equal((await transport.request({ path: '/' })).status, 429);
  assert.equal(sends(), 11);
});

test('applies the deadline to all attempts together', async t => {
  const options = { status: '429 Busy', retryAfter: '0', afterMs: 500, deadlineMs: 2_000 };
  const { transport, address, sends } = await turnedAway(t, options);
  const start = performance.now();
  await assert.rejects(transport.request({ path: '/' }), {
    message: `the server ${address} gave no answer within 2 s`,
  });
  const took = performance.now() - start;
  assert.ok(took >= 1_999 && took < 30_000, `${took} ms`);
  assert.ok(sends() > 1);
});

test('reuses no idle connection after a deadline, as it may be dead as well', async t => {
  let oldAreDead = false;
  const server = createServer(socket => {
    const isOld = !oldAreDead;
    socket.on('error', () => {});
    socket.on('data', () => {
      if (!(oldAreDead && isOld)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const { transport } = await transportTo(t, server, { deadlineMs: 500 });
  await Promise.all([1, 2, 3].map(() => transport.request({ path: '/' })));
  oldAreDead = true;
  await assert.rejects(transport.request({ path: '/' }), /gave no answer/);
  assert.equal((await transport.request({ path: '/' })).status, 200);
});

test('drops idle connections after a watch timed out, and resends requests that wait', async t => {
  let [oldAreDead, sends] = [false, 0];
  const server = createServer(socket => {
    const isOld = !oldAreDead;
    socket.on('error', () => {});
    socket.on('data', data => {
      sends += 1;
      if (oldAreDead && isOld) return;
      const isWatch = data.toString().startsWith('GET /watch');
      socket.write(`HTTP/1.1 200 OK\r\n${isWatch ? 'Transfer-Encoding: chunked' : 'Content-Length: 0'}\r\n\r\n`);
    });
  });
  const { transport } = await transportTo(t, server, {});
  await Promise.all([1, 2, 3].map(() => transport.request({ path: '/' })));
  const over = new AbortController();
  await transport.stream({ path: '/watch' }, over.signal);
  oldAreDead = true;
  const guarded = transport.request({ method: 'PATCH', path: '/', replayable: true });
  const create = transport.request({ method: 'POST', path: '/' });
  let isCreated = false;
  create.then(
    () => {
      isCreated = true;
    },
    () => {},
  );
  while (sends < 6) await new Promise(resolve => setTimeout(resolve, 5));
  over.abort(new DOMException('', 'TimeoutError'));
  assert.equal((await guarded).status, 200);
  assert.equal((await transport.request({ path: '/' })).status, 200);
  assert.equal(isCreated, false, 'what is not safe to send twice waits for its own deadline');
});

test('accepts a shorter deadline for one request', async t => {
  const { transport } = await turnedAway(t, { status: '200 OK', retryAfter: '', afterMs: 20_000 });
  const start = performance.now();
  await assert.rejects(transport.request({ path: '/', deadlineMs: 100 }), /gave no answer within 0\.1 s/);
  assert.ok(performance.now() - start < 15_000);
});

test('applies a requested deadline to the login as well', async t => {
  const credentials = () => new Promise<Credentials>(() => {});
  const { transport } = await turnedAway(t, { status: '200 OK', retryAfter: '', deadlineMs: 100, credentials });
  await assert.rejects(transport.request({ path: '/' }), {
    message: 'no credentials for user "u" after 0.1 s',
    next: "log in with the user's plugin, or wait longer with --request-timeout",
  });
});

test('does not apply the default deadline to the login, as a user may be logging in', async t => {
  let now = 0;
  const clock = { now: () => now, after: () => () => {} };
  const credentials = async () => {
    now += 3_600_000;
    return none;
  };
  const { transport } = await turnedAway(t, { status: '200 OK', retryAfter: '', credentials, clock });
  assert.equal((await transport.request({ path: '/' })).status, 200);
});
