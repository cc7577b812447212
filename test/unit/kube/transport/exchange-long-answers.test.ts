/** Responses that would exhaust memory: long, compressed, in single bytes, endless. The server is real. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Agent, createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../../src/controller/clock.ts';
import { exchange } from '../../../../src/kube/transport/exchange.ts';
import type { Request } from '../../../../src/kube/transport/request.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { MAX_ANSWER_LENGTH } from '../../../../src/kube/wire.ts';

const MIB = 1024 ** 2;

/** 0.5 MB that unpack to 100 MiB. */
const BOMB = gzipSync(Buffer.alloc(100 * MIB), { level: 1 });

/** 600 kB, half of it when compressed. */
const RANDOM = randomBytes(300_000).toString('hex');

async function inPieces(response: ServerResponse, body: Buffer, length: number): Promise<void> {
  for (let at = 0; at < body.length; at += length) {
    response.write(body.subarray(at, at + length));
    // Else they would come as one.
    await setImmediate();
  }
  response.end();
}

function endlessly(response: ServerResponse, piece: string): void {
  const feed = () => {
    while (!response.closed && response.write(piece));
  };
  response.on('drain', feed);
  feed();
}

const PACKED = gzipSync(RANDOM);
const asGzip = (response: ServerResponse) => response.writeHead(200, { 'content-encoding': 'gzip' });

const ANSWERS: Record<string, (response: ServerResponse) => unknown> = {
  '/bomb': response => asGzip(response).end(BOMB),
  '/refused-bomb': response => response.writeHead(403, { 'content-encoding': 'gzip' }).end(BOMB),
  '/pieces': response => inPieces(asGzip(response), PACKED, 1_000),
  '/short': response => asGzip(response).end(PACKED.subarray(0, 100_000)),
  '/cut': response => asGzip(response).write(PACKED.subarray(0, 100_000), () => response.destroy()),
  '/damaged': response => asGzip(response).write('no gzip'),
  '/endless': response => endlessly(response, 'x'.repeat(64 * 1024)),
  '/refused': response => endlessly(response.writeHead(403), 'x'.repeat(64 * 1024)),
  '/bytes': ({ socket }) => {
    socket?.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`);
  },
  '/longest': response => response.end(Buffer.alloc(MAX_ANSWER_LENGTH)),
};
const server = createServer(({ url = '' }, response) => ANSWERS[url]?.(response));
let address: string;
before(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

function exchangeOf(path: string, agent: Agent, onBody?: (chunk: Buffer) => void) {
  const request = { url: new URL(path, address), method: 'GET', headers: {}, body: undefined };
  return exchange({ ...request, agent, deadlineMs: undefined, clock: systemClock, onBody });
}

function ask(request: Request) {
  const transport = new Transport({
    access: { cluster: { name: 'c', server: address, skipTlsVerify: false }, user: { name: 'u' }, source: '/k' },
    credentials: async () => ({
      secureContext: undefined,
      headers: {},
      certificateEnds: () => undefined,
      renewal: undefined,
    }),
    userAgent: 'test',
    env: {},
    clock: systemClock,
    log: () => {},
  });
  return transport.request(request).finally(() => transport.close());
}

describe('a buffered response', () => {
  for (const path of ['/bomb', '/endless', '/bytes']) {
    test(`${path.slice(1)}: fails beyond 64 MiB unpacked, with the next step`, async () => {
      await assert.rejects(ask({ path }), {
        name: 'NodepoolError',
        message: `the server ${address} sent an answer of more than 64 MiB or 65536 pieces`,
        next: 'check that /k is the address of a Kubernetes API server, and check proxies in front of it',
      });
    });
  }

  test('reads a compressed response in small pieces completely', async () => {
    assert.equal((await ask({ path: '/pieces' })).text, RANDOM);
  });

  for (const [path, code] of [
    ['/short', 'Z_BUF_ERROR'],
    ['/cut', 'ECONNRESET'],
  ] as const) {
    test(`passes on no data of a compressed response that is ${path.slice(1)} after the error`, async () => {
      let bytes = 0;
      const onBody = (chunk: Buffer) => {
        bytes += chunk.length;
      };
      await assert.rejects(exchangeOf(path, new Agent(), onBody), { code });
      const before = bytes;
      if (path === '/short') assert.ok(bytes > 150_000, `${bytes} bytes of what came`);
      await setTimeout(50);
      assert.equal(bytes, before);
    });
  }

  test('a damaged response that does not end frees its connection', async () => {
    const agent = new Agent({ keepAlive: true });
    await assert.rejects(exchangeOf('/damaged', agent), { code: 'Z_DATA_ERROR' });
    for (let waited = 0; waited < 1_000 && Object.keys(agent.sockets).length > 0; waited += 10) await setTimeout(10);
    assert.deepEqual(Object.keys(agent.sockets), []);
  });

  test('names for a write that the change may have been made', async () => {
    await assert.rejects(ask({ path: '/endless', method: 'POST', body: {} }), {
      next: /; the change may have been made$/,
    });
  });

  test('is read up to 64 MiB', async () => {
    assert.equal((await ask({ path: '/longest' })).text.length, MAX_ANSWER_LENGTH);
  });

  for (const path of ['/refused', '/refused-bomb']) {
    test(`${path.slice(1)}: reads the first MiB of a refusal`, async () => {
      const { status, text } = await ask({ path });
      assert.equal(status, 403);
      assert.ok(text.length <= MIB);
    });
  }

  test('needs less than 400 MB of memory', {
    skip: process.platform !== 'linux' && 'the peak is read from /proc',
  }, () => {
    const exchange = JSON.stringify(new URL('../../../../src/kube/transport/exchange.ts', import.meta.url).href);
    const code = `
      const { exchange } = await import(${exchange});
      const { createServer } = await import('node:http');
      const { gzipSync } = await import('node:zlib');
      const packed = gzipSync(Buffer.alloc(${8 * MIB}));
      // A gzip file may have several members: 4,000 of them unpack to 32 GiB.
      const server = createServer((_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        for (let i = 0; i < 4_000; i++) response.write(packed);
        response.end();
      });
      await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
      const url = new URL('http://127.0.0.1:' + server.address().port);
      const rest = { body: undefined, deadlineMs: undefined, signal: undefined, onBody: undefined };
      const error = await exchange({ url, method: 'GET', headers: {}, ...rest }).catch(error => error);
      // Not maxRSS of resourceUsage(), which begins at the peak of the process that spawned this one.
      const { readFileSync } = await import('node:fs');
      const kilobytes = Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
      console.log(JSON.stringify({ name: error.name, kilobytes }));
      process.exit();`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', timeout: 60_000 });
    const { name, kilobytes } = JSON.parse(run.stdout);
    assert.equal(name, 'TooLongError');
    assert.ok(kilobytes < 400_000, `${kilobytes} kB`);
  });
});
