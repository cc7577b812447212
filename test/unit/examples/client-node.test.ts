/** examples/client-node.ts and event-sink.ts with a fake server, whose failures a real one does not give on demand. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api, EventsV1Api, KubeConfig } from '@kubernetes/client-node';
import { Connection, listWatch, MERGE_PATCH } from '../../../examples/client-node.ts';
import { eventSink } from '../../../examples/event-sink.ts';
import { proxyAgents } from '../../../examples/proxy.ts';
import { FirstWins } from '../../../examples/runtime.ts';
import type { RecordedEvent } from '../../../src/controller/recorder.ts';

const PODS = '/api/v1/pods';
const STATUS = { kind: 'Status', message: 'too many requests' };
const EVENT: RecordedEvent = {
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'node-1' },
  type: 'Normal',
  reason: 'Tried',
  action: 'Try',
  note: 'ä'.repeat(600),
  id: 'abc',
  first: new Date('2026-01-01T00:00:00.123Z'),
  last: new Date('2026-01-01T00:01:00.123Z'),
  count: 1,
};

/** A server for one test, and a connection to it. */
async function serve(t: TestContext, answer: RequestListener): Promise<{ connection: Connection; sockets(): number }> {
  const server = createServer(answer);
  let sockets = 0;
  server.on('connection', () => {
    sockets += 1;
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const load = () => {
    const config = new KubeConfig();
    const cluster = { name: 'fake', server: `http://127.0.0.1:${port}/prefix`, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: 'nobody', token: 'secret' });
    return config;
  };
  return { connection: new Connection(load, 'test/1.0'), sockets: () => sockets };
}

function list(connection: Connection, signal = AbortSignal.timeout(5_000)) {
  return listWatch(connection, PODS).list({ limit: 2, continue: undefined, signal });
}

async function watch(connection: Connection, signal = AbortSignal.timeout(5_000), onLine = () => {}) {
  const lines: unknown[] = [];
  const options = { resourceVersion: '1', initialEvents: false, timeoutSeconds: 5, signal };
  const end = await listWatch(connection, PODS).watch(options, line => {
    lines.push(line);
    onLine();
  });
  return { lines, end };
}

describe('a watch on client-node', () => {
  test('returns whole lines for any chunk boundaries', async t => {
    const events = ['ä\u2028\r€', '🙂'].map(name => ({ type: 'ADDED', object: { metadata: { name }, unknown: 1 } }));
    const { connection } = await serve(t, async (_, response) => {
      for (const byte of Buffer.from(events.map(event => `${JSON.stringify(event)}\n`).join(''))) {
        response.write(Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      response.end();
    });
    assert.deepEqual(await watch(connection), { lines: events, end: { kind: 'ended' } });
  });

  test('passes an ERROR line on and ends', async t => {
    const line = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } };
    const { connection } = await serve(t, (_, response) => response.end(`${JSON.stringify(line)}\n`));
    assert.deepEqual(await watch(connection), { lines: [line], end: { kind: 'ended' } });
  });

  const ends: [name: string, message: RegExp, answer: RequestListener][] = [
    ['ends inside a line', /inside a line/, (_, response) => response.end('{"type":')],
    ['has a line that is no JSON', /JSON/, (_, response) => response.end('<html>\n')],
    ['loses its connection', /aborted|ECONNRESET/, (_, response) => response.write('{}\n', () => response.destroy())],
    ['gets no answer', /socket hang up|ECONNRESET/, request => request.destroy()],
  ];
  for (const [name, message, answer] of ends) {
    test(`reports a watch that ${name} as broken`, async t => {
      const { end } = await watch((await serve(t, answer)).connection);
      assert.equal(end.kind, 'broken');
      assert.match((end as { message: string }).message, message);
    });
  }

  test('ends soon after its signal, before and after the response has begun', async t => {
    const silent = await serve(t, () => {});
    assert.equal((await watch(silent.connection, AbortSignal.timeout(50))).end.kind, 'broken');
    const quiet = await serve(t, (_, response) => response.write('{}\n'));
    const abort = new AbortController();
    const { lines, end } = await watch(quiet.connection, abort.signal, () => abort.abort());
    assert.deepEqual([lines.length, end.kind], [1, 'broken']);
  });

  test('reports a refused watch or list with message and Retry-After of the server', async t => {
    const { connection } = await serve(t, (_, response) =>
      response.writeHead(429, { 'Retry-After': '3' }).end(JSON.stringify(STATUS)),
    );
    const refused = { kind: 'refused', status: 429, message: 'too many requests', retryAfterMs: 3_000 };
    assert.deepEqual((await watch(connection)).end, refused);
    assert.deepEqual(await list(connection), refused);
    const page = await serve(t, (_, response) => response.writeHead(502).end('<h1>Bad gateway</h1>\n<p>'));
    const message = '<h1>Bad gateway</h1>';
    assert.deepEqual(await list(page.connection), { kind: 'refused', status: 502, message, retryAfterMs: undefined });
  });
});

test('reports a response that is not a list as broken', async t => {
  for (const text of ['<html>', '{}', 'null', '{"metadata":{}}']) {
    const { connection } = await serve(t, (_, response) => response.end(text));
    assert.equal((await list(connection)).kind, 'broken', text);
  }
});

describe('calls of API classes', () => {
  test('share a connection with lists, and send credentials and the patch type', async t => {
    const asked: unknown[] = [];
    const { connection, sockets } = await serve(t, ({ method, url, headers }, response) => {
      asked.push([method, url, headers.authorization, headers['user-agent'], headers['content-type']]);
      response.setHeader('content-type', 'application/json').end('{"metadata":{"resourceVersion":"1"}}');
    });
    await list(connection);
    const api = connection.client(CoreV1Api);
    for (const name of ['a', 'b', 'c']) await api.patchNode({ name, body: {} }, MERGE_PATCH);
    assert.equal(sockets(), 1);
    assert.deepEqual(asked.slice(0, 2), [
      ['GET', '/prefix/api/v1/pods?limit=2', 'Bearer secret', 'test/1.0', undefined],
      ['PATCH', '/prefix/api/v1/nodes/a', 'Bearer secret', 'test/1.0', 'application/merge-patch+json'],
    ]);
  });

  test('report a refusal in one line, without headers', async t => {
    const { connection } = await serve(t, (_, response) => response.writeHead(409).end(JSON.stringify(STATUS)));
    const read = connection.client(CoreV1Api).readNode({ name: 'a' });
    await assert.rejects(read, { message: 'the server answered 409: too many requests' });
  });
});

describe('the event sink', () => {
  async function sink(t: TestContext, status: number, onBody: (body: string) => void = () => {}) {
    const { connection } = await serve(t, async (request, response) => {
      onBody(`${request.url} ${Buffer.concat(await request.toArray())}`);
      response.writeHead(status, { 'content-type': 'application/json', 'Retry-After': '2' }).end('{"message":"m"}');
    });
    return eventSink(connection.client(EventsV1Api), 'example.com/test', 'test-1');
  }

  test('writes microseconds, and cuts a note at the limit of the server', async t => {
    let written = '';
    const { create } = await sink(t, 201, body => {
      written = body;
    });
    assert.deepEqual(await create({ ...EVENT, count: 2 }), { kind: 'written' });
    assert.match(written, /^\/prefix\/apis\/events.k8s.io\/v1\/namespaces\/default\/events /);
    const { metadata, eventTime, note, series } = JSON.parse(written.slice(written.indexOf('{')));
    assert.equal(metadata.name, 'node-1.abc');
    assert.equal(eventTime, '2026-01-01T00:00:00.123000Z');
    assert.deepEqual(series, { count: 2, lastObservedTime: '2026-01-01T00:01:00.123000Z' });
    assert.equal(Buffer.byteLength(note), 1024);
  });

  const refused = { kind: 'refused', message: 'm' };
  const failed = { kind: 'failed', message: 'm', retryAfterMs: 2_000 };
  const cases: [status: number, create: object, patch: object][] = [
    [409, { kind: 'written' }, refused],
    [404, refused, { kind: 'missing' }],
    [422, refused, refused],
    [429, failed, failed],
    [500, failed, failed],
    [401, failed, failed],
  ];
  for (const [status, create, patch] of cases) {
    test(`maps a response of ${status} to a result`, async t => {
      const target = await sink(t, status);
      assert.partialDeepStrictEqual(await target.create(EVENT), create);
      assert.partialDeepStrictEqual(await target.patch(EVENT), patch);
    });
  }

  test('fails without a connection', async t => {
    const { connection } = await serve(t, request => request.destroy());
    const { create } = eventSink(connection.client(EventsV1Api), 'example.com/test', 'test-1');
    assert.equal((await create(EVENT)).kind, 'failed');
  });
});

describe('the kubeconfig and the environment', () => {
  test('the first of several clusters, users, contexts and current contexts wins', () => {
    const [config, second] = [new FirstWins(), new KubeConfig()];
    for (const [each, name] of [
      [config, 'first'],
      [second, 'second'],
    ] as const) {
      each.loadFromOptions({
        clusters: [{ name: 'c', server: `https://${name}` }],
        users: [{ name: 'u', token: name }],
        contexts: [
          { name: 'x', cluster: 'c', user: 'u', namespace: name },
          { name, cluster: 'c', user: 'u' },
        ],
        currentContext: name,
      });
    }
    config.mergeConfig(second);
    assert.deepEqual([config.getCluster('c')?.server, config.getUser('u')?.token], ['https://first', 'first']);
    assert.deepEqual([config.currentContext, config.getContextObject('x')?.namespace], ['first', 'first']);
    assert.equal(config.getContextObject('second')?.cluster, 'c');
  });

  test('requests go through the proxy of the environment', async t => {
    const asked: (string | undefined)[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request.url);
      response.end('{"metadata":{"resourceVersion":"1"}}');
    }).listen(0, '127.0.0.1');
    t.after(() => proxy.close().closeAllConnections());
    await once(proxy, 'listening');
    const before = process.env.HTTP_PROXY;
    process.env.HTTP_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    t.after(() => {
      if (before === undefined) delete process.env.HTTP_PROXY;
      else process.env.HTTP_PROXY = before;
    });
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'far', server: 'http://api.invalid', skipTLSVerify: true },
      { name: 'nobody' },
    );
    assert.equal((await list(new Connection(() => config, 'test/1.0'))).kind, 'page');
    assert.deepEqual(asked, [`http://api.invalid${PODS}?limit=2`]);
  });

  test('uses no proxy for loopback addresses and blocks of NO_PROXY', () => {
    const agentFor = proxyAgents({ HTTPS_PROXY: 'http://proxy', NO_PROXY: '.local, 10.0.0.0/8,fd00::/8' });
    for (const host of ['localhost', '127.0.0.2', '[::1]', '10.96.0.1', '[fd00::1]']) {
      assert.equal(agentFor(`https://${host}:6443/`), undefined, host);
    }
    for (const host of ['api.example.com', '11.0.0.1', '[fe80::1]']) {
      assert.notEqual(agentFor(`https://${host}:6443/`), undefined, host);
    }
  });
});
