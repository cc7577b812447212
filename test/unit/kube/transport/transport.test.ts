/** Deadlines and delays, with a server that only turns away. */
import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../../src/controller/clock.ts';
import type { Credentials } from '../../../../src/kube/auth/credentials.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';

const none: Credentials = { secureContext: undefined, headers: {}, certificateEnds: undefined, renewal: undefined };

interface TransportOptions {
  deadlineMs?: number;
  credentials?: () => Promise<Credentials>;
  clock?: Clock;
  concurrency?: number;
  mayWrite?: () => boolean;
}

interface Options extends TransportOptions {
  status: string;
  retryAfter: string;
  afterMs?: number;
}

/** Every request gets the same answer, after a while. */
async function turnedAway(t: TestContext, { status, retryAfter, afterMs = 0, ...options }: Options) {
  let sends = 0;
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', () => {
      sends += 1;
      const answer = `HTTP/1.1 ${status}\r\nRetry-After: ${retryAfter}\r\nContent-Length: 0\r\n\r\n`;
      setTimeout(() => socket.write(answer), afterMs);
    });
  });
  return { ...(await transportTo(t, server, options)), sends: () => sends };
}

async function transportTo(t: TestContext, server: Server, options: TransportOptions) {
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = new Transport({
    access: { cluster: { name: 'c', server: address, skipTlsVerify: false }, user: { name: 'u' }, source: '/k' },
    credentials: async () => none,
    userAgent: 'test',
    env: {},
    clock: systemClock,
    log: () => {},
    ...options,
  });
  t.after(() => {
    transport.close();
    server.close();
  });
  return { transport, address };
}

test('returns the refusal at once when Retry-After exceeds the deadline', async t => {
  const options = { status: '503 Busy', retryAfter: '1', deadlineMs: 500 };
  const { transport, sends } = await turnedAway(t, options);
  const start = performance.now();
  assert.equal((await transport.request({ path: '/' })).status, 503);
  assert.equal(sends(), 1);
  assert.ok(performance.now() - start < 1000);
});

test('applies the deadline to all attempts together', async t => {
  const options = { status: '429 Busy', retryAfter: '0', afterMs: 200, deadlineMs: 500 };
  const { transport, address, sends } = await turnedAway(t, options);
  const start = performance.now();
  await assert.rejects(transport.request({ path: '/' }), {
    message: `the server ${address} gave no answer within 0.5 s`,
  });
  const took = performance.now() - start;
  assert.ok(took >= 499 && took < 2000, `${took} ms`);
  assert.ok(sends() > 1);
});

test('reuses no idle connection after a deadline, as it may be dead too', async t => {
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

test('drops kept connections after a watch that timed out, and resends what waits on one', async t => {
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
  const { transport } = await turnedAway(t, { status: '200 OK', retryAfter: '', afterMs: 2_000 });
  const start = performance.now();
  await assert.rejects(transport.request({ path: '/', deadlineMs: 100 }), /gave no answer within 0\.1 s/);
  assert.ok(performance.now() - start < 1_900);
});

test('applies a requested deadline to the login too', async t => {
  const credentials = () => new Promise<Credentials>(() => {});
  const { transport } = await turnedAway(t, { status: '200 OK', retryAfter: '', deadlineMs: 100, credentials });
  await assert.rejects(transport.request({ path: '/' }), {
    message: 'there are no credentials for user "u" after 0.1 s',
    next: 'log in with its plugin, or wait longer with --request-timeout',
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

test('spreads requests with the same Retry-After, and sends none too early', async t => {
  const delays: number[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    after(ms, callback) {
      // Deadlines are not waited for here.
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

test('sends a delayed write only while it is allowed; reads and urgent writes are sent', async t => {
  let may = true;
  const options = { status: '429 Busy', retryAfter: '0', afterMs: 20, mayWrite: () => may };
  const { transport, sends } = await turnedAway(t, options);
  const write = transport.request({ method: 'PATCH', path: '/' });
  await until(() => sends() > 1);
  may = false;
  await assert.rejects(write, { message: 'this process may not write any more: it has lost its lease' });
  const before = sends();
  await assert.rejects(transport.request({ method: 'DELETE', path: '/' }));
  assert.equal(sends(), before);
  for (const request of [{ path: '/' }, { method: 'PATCH', path: '/', urgent: true }] as const) {
    assert.equal((await transport.request(request)).status, 429);
  }
  assert.equal(sends(), before + 22, 'ten times again, each');
});

test('ends an aborted request at once and frees its place', async t => {
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
  await assert.rejects(queued, { message: 'the request was given up on our side' });
  assert.equal((await next).status, 200);
});

test('close() ends waiting requests, and none is sent after it', async t => {
  const options = { status: '429 Busy', retryAfter: '20', deadlineMs: 25_000, concurrency: 1 };
  const { transport, sends } = await turnedAway(t, options);
  const requests = [transport.request({ path: '/' }), transport.request({ path: '/' })];
  await until(() => sends() === 1);
  // Its answer is there, and it waits to go again.
  await new Promise(resolve => setTimeout(resolve, 50));
  transport.close();
  for (const request of requests) await assert.rejects(request, { message: 'the request was given up on our side' });
  assert.equal(sends(), 1);
});

async function until(condition: () => boolean): Promise<void> {
  const ends = performance.now() + 5_000;
  while (!condition()) {
    assert.ok(performance.now() < ends, 'not within 5 s');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

test('returns a 429 at once to a caller that handles it, and no other refusal', async t => {
  const busy = await turnedAway(t, { status: '429 Too Many Requests', retryAfter: '1' });
  const asked = { method: 'POST', path: '/', tooManyIsAnswer: true } as const;
  assert.equal((await busy.transport.request(asked)).status, 429);
  assert.equal(busy.sends(), 1);
  const unready = await turnedAway(t, { status: '503 Service Unavailable', retryAfter: '0', deadlineMs: 5_000 });
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
