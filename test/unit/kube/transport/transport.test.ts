/** Retries, the concurrency limit, aborts and headers. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { Clock } from '../../../../src/controller/clock.ts';
import { none, transportTo, turnedAway, until } from './transport-fixture.ts';

test('spreads requests with the same Retry-After, and sends none early', async t => {
  const delays: number[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    after(ms, callback) {
      // Ignores deadlines.
      if (ms > 2000) return () => {};
      delays.push(ms);
      now += 1;
      setImmediate(callback);
      return () => {};
    },
  };
  const { transport } = await turnedAway(t, { status: '429 Busy', retryAfter: '1', clock });
  await Promise.all(Array.from({ length: 32 }, () => transport.request({ path: '/' })));
  assert.equal(delays.length, 320, 'ten delays each');
  assert.ok(Math.min(...delays) >= 1000);
  assert.ok(Math.max(...delays) <= 1200);
  assert.ok(new Set(delays.map(delay => Math.floor(delay))).size > 50);
});

test('sends an urgent request beyond the concurrency limit', async t => {
  const options = { status: '429 Busy', retryAfter: '20', deadlineMs: 25_000, concurrency: 1 };
  const { transport, sends } = await turnedAway(t, options);
  const kept = transport.request({ path: '/' });
  kept.catch(() => {});
  const waiting = transport.request({ path: '/' });
  waiting.catch(() => {});
  const urgent = transport.request({ method: 'PATCH', path: '/lease', urgent: true });
  urgent.catch(() => {});
  await until(() => sends() === 2);
});

test('sends a delayed write only while writes are allowed, but sends reads and urgent writes', async t => {
  let may = true;
  const options = { status: '429 Busy', retryAfter: '0', afterMs: 20, mayWrite: () => may };
  const { transport, sends } = await turnedAway(t, options);
  const write = transport.request({ method: 'PATCH', path: '/' });
  await until(() => sends() > 1);
  may = false;
  await assert.rejects(write, { message: 'this process may no longer write: it lost its lease' });
  const before = sends();
  await assert.rejects(transport.request({ method: 'DELETE', path: '/' }));
  assert.equal(sends(), before);
  for (const request of [{ path: '/' }, { method: 'PATCH', path: '/', urgent: true }] as const) {
    assert.equal((await transport.request(request)).status, 429);
  }
  assert.equal(sends(), before + 22, 'ten times again, each');
});

test('ends an aborted request at once and frees its slot', async t => {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', data => {
      if (String(data).startsWith('GET /answers')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const { transport } = await transportTo(t, server, { concurrency: 1, deadlineMs: 0 });
  const given = new AbortController();
  const hanging = transport.request({ path: '/hangs', signal: given.signal });
  const queued = transport.request({ path: '/hangs', signal: given.signal });
  const next = transport.request({ path: '/answers' });
  setTimeout(() => given.abort(), 50);
  await assert.rejects(hanging);
  await assert.rejects(queued, { message: 'the request was canceled by the client' });
  assert.equal((await next).status, 200);
});

test('close() ends waiting requests, after which none is sent', async t => {
  const options = { status: '429 Busy', retryAfter: '20', deadlineMs: 25_000, concurrency: 1 };
  const { transport, sends } = await turnedAway(t, options);
  const requests = [transport.request({ path: '/' }), transport.request({ path: '/' })];
  await until(() => sends() === 1);
  // The response has arrived, and the retry waits.
  await new Promise(resolve => setTimeout(resolve, 50));
  transport.close();
  for (const request of requests) await assert.rejects(request, { message: 'the request was canceled by the client' });
  assert.equal(sends(), 1);
});

test('returns a 429 at once to a caller that handles it, and retries other refusals', async t => {
  const busy = await turnedAway(t, { status: '429 Too Many Requests', retryAfter: '1' });
  const asked = { method: 'POST', path: '/', tooManyIsAnswer: true } as const;
  assert.equal((await busy.transport.request(asked)).status, 429);
  assert.equal(busy.sends(), 1);
  const unready = await turnedAway(t, { status: '503 Service Unavailable', retryAfter: '0', deadlineMs: 30_000 });
  await unready.transport.request(asked);
  assert.ok(unready.sends() > 1);
});

test('sends the same UTF-8 header with and without a body', async t => {
  const heads: string[] = [];
  const server = createServer(socket => {
    let all = '';
    socket.on('error', () => {});
    socket.on('data', chunk => {
      all += chunk.toString();
      // The body, if there is one, is `"é"`.
      if (!all.includes('\r\n\r\n') || (all.startsWith('POST') && !all.endsWith('"é"'))) return;
      heads.push(all.split('\r\n').find(line => line.startsWith('Impersonate-User')) ?? '');
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const headers = { 'Impersonate-User': Buffer.from('zoë').toString('latin1') };
  const { transport } = await transportTo(t, server, { credentials: async () => ({ ...none, headers }) });
  await transport.request({ path: '/' });
  await transport.request({ method: 'POST', path: '/', body: 'é' });
  assert.deepEqual(heads, ['Impersonate-User: zoë', 'Impersonate-User: zoë']);
});

test('joins the server path as client-go does, without query and fragment', async t => {
  for (const [path, asked] of [
    ['', '/apis?limit=1'],
    ['//', '/apis?limit=1'],
    ['//a//b/', '/a/b/apis?limit=1'],
    ['/a/?x=y', '/a/apis?limit=1'],
    ['?x=y', '/apis?limit=1'],
    ['/a#b', '/a/apis?limit=1'],
  ] as const) {
    let line: string | undefined;
    const server = createServer(socket => {
      socket.on('error', () => {});
      socket.on('data', data => {
        line = String(data).split(' ', 2)[1];
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    const { transport } = await transportTo(t, server, { path });
    await transport.request({ path: '/apis', query: { limit: '1' } });
    assert.equal(line, asked, path);
  }
});

test('calls `meanwhile` once, after all first requests are sent', async t => {
  let calls = 0;
  const options = { concurrency: 1, meanwhile: () => calls++ };
  const { transport, sends } = await turnedAway(t, { status: '200 OK', retryAfter: '', ...options });
  const [first, second] = [transport.request({ path: '/' }), transport.request({ path: '/' })];
  await first;
  assert.equal(calls, 0, 'the second is not sent');
  await second;
  await transport.request({ path: '/' });
  assert.deepEqual([calls, sends()], [1, 3]);
});
