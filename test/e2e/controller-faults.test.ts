/** The reflector behind a proxy that holds, cuts and forges answers of a real kube-apiserver. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import { Reflector } from '../../src/controller/reflector.ts';
import { Store } from '../../src/controller/store.ts';
import { toNode } from '../../src/kube/nodes.ts';
import { NODES } from '../../src/kube/resource.ts';
import { listWatch } from '../../src/kube/watch.ts';
import type { Node } from '../../src/nodepool/types.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, deleteNodes, labelNode } from '../cluster/nodes.ts';
import { openTransport, until } from './controller-world.ts';

/** What becomes of a piece of a watch's answer; undefined lets it pass. */
type Fault = (piece: Buffer, client: ServerResponse) => 'eaten' | undefined;

describe('a reflector behind a proxy', () => {
  const cluster = useCluster();
  afterEach(() => deleteNodes(cluster()));

  async function create(t: TestContext) {
    const { server, ca, admin } = cluster();
    const agent = new Agent({ keepAlive: true, ca, ...admin });
    const asked: URL[] = [];
    const state: { fault: Fault; refuse: { status: number; retryAfter: string } | undefined } = {
      fault: () => undefined,
      refuse: undefined,
    };
    const proxy = createServer((incoming, client) => {
      const url = new URL(incoming.url ?? '', server);
      asked.push(url);
      if (state.refuse !== undefined) {
        client.writeHead(state.refuse.status, { 'retry-after': state.refuse.retryAfter }).end('no');
        state.refuse = undefined;
        return;
      }
      const upstream = httpsRequest(url, { agent, method: incoming.method ?? 'GET' }, answer => {
        client.writeHead(answer.statusCode ?? 0, answer.headers);
        client.flushHeaders();
        answer.on('data', (piece: Buffer) => {
          if (state.fault(piece, client) === undefined) client.write(piece);
        });
        answer.on('end', () => {
          if (state.fault(Buffer.alloc(0), client) === undefined) client.end();
        });
        answer.on('error', () => {});
      });
      upstream.on('error', () => {});
      client.on('close', () => upstream.destroy());
      upstream.end();
    });
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const kubeconfig = join(cluster().dir, `proxy-${address.split(':')[2]}.json`);
    await writeFile(
      kubeconfig,
      JSON.stringify({
        'current-context': 'proxy',
        contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'nobody' } }],
        clusters: [{ name: 'proxy', cluster: { server: address } }],
        users: [{ name: 'nobody', user: {} }],
      }),
    );
    const transport = openTransport({ kubeconfig });
    const [told, log]: [string[], string[]] = [[], []];
    const reflector = new Reflector<Node>({
      name: 'nodes',
      source: listWatch(transport, NODES),
      transform: toNode,
      store: new Store<Node>(),
      clock: systemClock,
      random: Math.random,
      log: (level, message) => log.push(`${level} ${message}`),
    });
    reflector.subscribe(event =>
      told.push(`${event.type} ${(event.type === 'deleted' ? event.tombstone.item : event.item).key}`),
    );
    t.after(async () => {
      await reflector.stop();
      transport.close();
      agent.destroy();
      proxy.closeAllConnections();
      proxy.close();
    });
    reflector.start();
    const lists = () => asked.filter(url => url.searchParams.has('sendInitialEvents')).length;
    await until(() => asked.length === 2);
    return { reflector, told, log, asked, lists, state };
  }

  test('half a line and then a cut: it goes on from the last whole line', async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const { told, log, asked, lists, state } = await create(t);
    state.fault = (piece, client) => {
      client.write(piece.subarray(0, piece.length / 2), () => client.socket?.destroy());
      state.fault = () => undefined;
      return 'eaten';
    };
    await labelNode(cluster(), 'a', { changed: 'yes' });
    await until(() => told.length === 2);
    assert.deepEqual(told, ['added a', 'updated a']);
    assert.equal(asked.length, 3);
    assert.equal(asked[2]?.searchParams.get('resourceVersion'), asked[1]?.searchParams.get('resourceVersion'));
    assert.equal(lists(), 1);
    assert.match(log.join(), /next attempt in (0\.[89]|1\.[0-6]) s/);
  });

  test('a line that is no JSON breaks the watch, JSON that is no event is skipped; no change is lost', async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const { told, log, lists, state } = await create(t);
    for (const [index, forged] of ['{"hello":"world"}\n', '<html>\n'].entries()) {
      state.fault = (piece, client) => {
        client.write(forged);
        client.write(piece);
        state.fault = () => undefined;
        return 'eaten';
      };
      await labelNode(cluster(), 'a', { round: String(index) });
      await until(() => told.length === 2 + index);
    }
    assert.match(log[0] ?? '', /no event; skipped/);
    assert.equal(log.length, 2);
    assert.equal(lists(), 1);
  });

  test('429: Retry-After is kept, and there is no list', async t => {
    const { asked, lists, state, log } = await create(t);
    state.refuse = { status: 429, retryAfter: '3' };
    state.fault = (_, client) => {
      client.socket?.destroy();
      return 'eaten';
    };
    await createNodes(cluster(), [{ name: 'a' }]);
    await until(() => asked.length === 3);
    state.fault = () => undefined;
    const since = performance.now();
    await until(() => asked.length === 4);
    const waited = performance.now() - since;
    assert.ok(waited > 2_900 && waited < 3_500, `${waited} ms`);
    assert.equal(lists(), 1);
    assert.match(log.at(-1) ?? '', /answered 429.*next attempt in 3\.0 s/);
  });

  test('silence with open sockets is noticed within 45 s, and what happened meanwhile is told', async t => {
    const { told, log, lists, asked, state } = await create(t);
    const since = performance.now();
    state.fault = () => 'eaten';
    await createNodes(cluster(), [{ name: 'unseen' }]);
    await until(() => log.length > 0, 45_000);
    const seconds = (performance.now() - since) / 1000;
    assert.ok(seconds > 30, `${seconds} s`);
    assert.match(log[0] ?? '', /fell silent/);
    state.fault = () => undefined;
    await until(() => told.length > 0);
    assert.deepEqual(told, ['added unseen']);
    assert.equal(lists(), 1);
    assert.equal(asked.length, 3);
  });

  test('going on with a watch of 2,000 nodes costs one small request', async t => {
    await createNodes(
      cluster(),
      Array.from({ length: 2_000 }, (_, index) => ({ name: `node-${index}` })),
    );
    const { reflector, asked, state, told } = await create(t);
    await until(() => reflector.store.size === 2_000);
    let bytes = 0;
    state.fault = piece => {
      bytes += piece.length;
      return undefined;
    };
    await until(() => asked.length === 3, 45_000);
    const since = performance.now();
    await labelNode(cluster(), 'node-7', { changed: 'yes' });
    await until(() => told.length === 2_001);
    assert.ok(performance.now() - since < 500);
    // A bookmark at most, and the changed node.
    assert.ok(bytes < 20_000, `${bytes} bytes`);
  });
});
