/** examples/client-node.ts on a real kube-apiserver. Reflectors on it: controller-reflector.test.ts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { Connection, listWatch } from '../../examples/client-node.ts';
import type { Page, WatchRequestOptions } from '../../src/controller/source.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, labelNode } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { until } from './admin-transport.ts';

const NODES = '/api/v1/nodes';
const NAMES = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5'];

interface Line {
  type: string;
  object: { code?: number; metadata: { name?: string; annotations?: Record<string, string> } };
}

interface List {
  items: unknown[];
  metadata: { resourceVersion: string };
}

describe('client-node as the source of a reflector', () => {
  const cluster = useCluster({}, started =>
    createNodes(
      started,
      NAMES.map(name => ({ name })),
    ),
  );

  function connect(path = cluster().kubeconfig): Connection {
    return new Connection(() => {
      const config = new KubeConfig();
      config.loadFromFile(path);
      return config;
    }, 'client-node-test/1.0');
  }

  function list(connection: Connection, token?: string, signal = AbortSignal.timeout(10_000)) {
    return listWatch(connection, NODES).list({ limit: 2, continue: token, signal });
  }

  /** A running watch, and its lines so far. */
  function watch(options: Partial<WatchRequestOptions>, connection = connect(), query: Record<string, string> = {}) {
    const lines: Line[] = [];
    let opened = 0;
    const onOpen = () => {
      opened += 1;
    };
    const signal = AbortSignal.timeout(30_000);
    const asked = { resourceVersion: undefined, initialEvents: false, timeoutSeconds: 20, signal, onOpen, ...options };
    const end = listWatch(connection, NODES, query).watch(asked, line => lines.push(line as Line));
    return { lines, end, opened: () => opened };
  }

  async function newest(): Promise<string> {
    return ((await raw(cluster()).expect('GET', NODES)) as List).metadata.resourceVersion;
  }

  test('lists pages of one resourceVersion, with each object unchanged', async () => {
    const connection = connect();
    const pages: Page[] = [];
    let token: string | undefined;
    do {
      const page = await list(connection, token);
      assert.equal(page.kind, 'page');
      pages.push(page);
      token = page.continue;
    } while (token !== undefined);
    assert.deepEqual(
      pages.map(({ items }) => items.length),
      [2, 2, 1],
    );
    assert.equal(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size, 1);
    assert.deepEqual(
      pages.flatMap(({ items }) => items),
      ((await raw(cluster()).expect('GET', NODES)) as List).items,
    );
  });

  test('watches initial events, a bookmark and changes, and ends on abort', async () => {
    const stop = new AbortController();
    const { lines, end, opened } = watch({ initialEvents: true, signal: stop.signal });
    await until(() => lines.at(-1)?.type === 'BOOKMARK');
    const initial = lines.splice(0);
    assert.equal(initial.pop()?.object.metadata.annotations?.['k8s.io/initial-events-end'], 'true');
    assert.deepEqual(initial.map(({ type, object }) => `${type} ${object.metadata.name}`).sort(), [
      ...NAMES.map(name => `ADDED ${name}`),
    ]);
    await labelNode(cluster(), 'node-1', { changed: 'yes' });
    await until(() => lines.some(({ type, object }) => type === 'MODIFIED' && object.metadata.name === 'node-1'));
    const since = performance.now();
    stop.abort();
    assert.equal((await end).kind, 'broken');
    assert.ok(performance.now() - since < 10_000);
    assert.equal(opened(), 1);
  });

  test('a quiet watch ends at its timeout', async () => {
    const since = performance.now();
    const query = { fieldSelector: 'metadata.name=none' };
    // Longer than Node keeps an idle connection.
    const { lines, end, opened } = watch({ resourceVersion: await newest(), timeoutSeconds: 8 }, connect(), query);
    await until(() => opened() === 1);
    assert.deepEqual(await end, { kind: 'ended' });
    const seconds = (performance.now() - since) / 1000;
    assert.ok(seconds > 7 && seconds < 20, `${seconds} s`);
    assert.ok(lines.every(({ type }) => type === 'BOOKMARK'));
  });

  test('a list and a watch with an aborted signal fail', async () => {
    const signal = AbortSignal.abort();
    assert.equal((await list(connect(), undefined, signal)).kind, 'broken');
    assert.equal((await watch({ signal }).end).kind, 'broken');
  });

  test('returns a refusal as a value with its message, while API classes throw it', async () => {
    const connection = connect(await kubeconfigFor(cluster(), 'nobody'));
    const refused = await list(connection);
    const { kind, status, message } = refused as { kind: string; status: number; message: string };
    assert.deepEqual([kind, status], ['refused', 403]);
    assert.match(message, /^nodes is forbidden: User "nobody" cannot list resource "nodes"/);
    assert.partialDeepStrictEqual(await watch({ resourceVersion: '1' }, connection).end, { kind, status });
    const read = connection.client(CoreV1Api).readNode({ name: 'node-1' });
    await assert.rejects(read, /^Error: the server answered 403: nodes "node-1" is forbidden: [^\n]*$/);
    const path = '/apis/example.com/v1/things';
    const options = { limit: 2, continue: undefined, signal: AbortSignal.timeout(10_000) };
    assert.partialDeepStrictEqual(await listWatch(connect(), path).list(options), { kind: 'refused', status: 404 });
  });

  test('reloads the kubeconfig after a 401', async () => {
    let loaded = 0;
    const connection = new Connection(() => {
      loaded += 1;
      const config = new KubeConfig();
      config.loadFromFile(cluster().kubeconfig);
      const found = config.getCurrentCluster();
      assert.ok(found !== null);
      if (loaded === 1) config.loadFromClusterAndUser(found, { name: 'expired', token: 'expired' });
      return config;
    }, 'client-node-test/1.0');
    assert.partialDeepStrictEqual(await list(connection), { kind: 'refused', status: 401 });
    assert.equal((await list(connection)).kind, 'page');
    assert.equal((await list(connection)).kind, 'page');
    assert.equal(loaded, 2);
  });

  test('an abort ends a hanging exec plugin, and a failing plugin breaks the connection', async () => {
    const withPlugin = (...command: string[]) => {
      const config = new KubeConfig();
      config.loadFromFile(cluster().kubeconfig);
      const found = config.getCurrentCluster();
      assert.ok(found !== null);
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: command[0], args: command.slice(1) };
      config.loadFromClusterAndUser(found, { name: 'plugin', exec });
      return new Connection(() => config, 'client-node-test/1.0');
    };
    const since = performance.now();
    assert.equal((await list(withPlugin('sleep', '60'), undefined, AbortSignal.timeout(200))).kind, 'broken');
    assert.ok(performance.now() - since < 20_000);
    for (const command of ['false', '/no/such/plugin', 'true']) {
      assert.equal((await list(withPlugin(command))).kind, 'broken', command);
    }
  });
});
