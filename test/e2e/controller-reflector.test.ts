/** The reflector on a real kube-apiserver: its events and its requests. */
import assert from 'node:assert/strict';
import { afterEach, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import * as example from '../../examples/client-node.ts';
import { systemClock } from '../../src/controller/clock.ts';
import { Reflector } from '../../src/controller/reflector.ts';
import type { Source, WatchRequestOptions } from '../../src/controller/source.ts';
import { Store, type StoreEvent } from '../../src/controller/store.ts';
import { NODES } from '../../src/kube/api/resource.ts';
import { listWatch } from '../../src/kube/api/watch.ts';
import { KeptAnnotations } from '../../src/kube/resources/kept-annotations.ts';
import { toNode } from '../../src/kube/resources/nodes.ts';
import type { Node } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { useCluster } from '../cluster/harness.ts';
import { HAS_WATCH_LIST } from '../cluster/minor.ts';
import { createNodes, deleteNodes, labelNode, nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { openTransport, until } from './admin-transport.ts';

const ENDED_EARLY = 'nodes: the server ended the streaming list early; reading pages instead';

/** A source of nodes, and a function that closes its connections. */
type Open = (cluster: ControlPlane, query: Record<string, string>) => { source: Source; close(): void };

const cluster = useCluster({ own: true });
afterEach(() => deleteNodes(cluster()));

const casesOn = (open: Open) => () => {
  const start = startOn.bind(undefined, open);

  test('reports existing, added, changed and deleted objects, and stores what the transform returns', async t => {
    await createNodes(cluster(), [{ name: 'old', labels: { color: 'red' } }]);
    const run = await start(t, cluster());
    await run.reflector.synced();
    assert.deepEqual(run.reported.splice(0), ['added old']);
    await createNodes(cluster(), [{ name: 'new' }]);
    await labelNode(cluster(), 'new', { color: 'blue' });
    await deleteNodes(cluster(), ['old']);
    await until(() => run.reported.length === 3);
    assert.deepEqual(run.reported, ['added new', 'updated new', 'deleted old (final)']);
    const node: Node | undefined = run.reflector.store.get('new')?.object;
    assert.equal(node?.labels.color, 'blue');
    assert.deepEqual(
      run.reflector.store.byIndex('color', 'blue').map(({ key }) => key),
      ['new'],
    );
    assert.equal(JSON.stringify(node).length < 1500, true);
  });

  test('reads the list by WatchList or in pages, with the same result', async t => {
    await createNodes(
      cluster(),
      Array.from({ length: 620 }, (_, index) => ({ name: `page-${index}` })),
    );
    const streamed = await start(t, cluster());
    await until(() => streamed.asked.length === 2);
    assert.deepEqual(streamed.problems, []);
    assert.deepEqual(
      streamed.asked.map(({ initialEvents }) => initialEvents),
      [true, false],
    );
    // A server that is still busy with the new nodes may end the stream early; only then are pages read.
    assert.equal(streamed.pages() > 0, !HAS_WATCH_LIST || streamed.lines.includes(ENDED_EARLY));
    // The response of an older server to sendInitialEvents.
    const paged = await start(t, cluster(), source => ({
      ...source,
      watch: (options, onLine) =>
        options.initialEvents
          ? Promise.resolve({ kind: 'refused', status: 422, message: 'forbidden', retryAfterMs: undefined })
          : source.watch(options, onLine),
    }));
    await paged.reflector.synced();
    assert.equal(paged.pages(), 2);
    assert.equal(paged.reflector.store.size, 620);
    assert.deepEqual([...paged.reflector.store.keys()].sort(), [...streamed.reflector.store.keys()].sort());
  });

  test('a quiet watch ends at its timeout and resumes from the last bookmark', async t => {
    await createNodes(cluster(), [{ name: 'quiet' }, { name: 'busy' }]);
    const lines: string[] = [];
    const count = (source: Source): Source => ({
      ...source,
      watch: (options, onLine) =>
        source.watch(options, line => {
          if (!options.initialEvents) lines.push((line as { type: string }).type);
          onLine(line);
        }),
    });
    const run = await start(t, cluster(), count, { fieldSelector: 'metadata.name=quiet' });
    await until(() => run.asked.length === 2);
    const since = performance.now();
    // After the watch has started: the server sends no bookmark for events that it skipped while catching up.
    await sleep(1_000);
    await labelNode(cluster(), 'busy', { changed: 'yes' });
    await until(() => run.asked.length === 3, 45_000);
    const seconds = (performance.now() - since) / 1000;
    assert.ok(seconds > 28 && seconds < 41, `${seconds} s`);
    assert.deepEqual([...new Set(lines)], ['BOOKMARK']);
    assert.deepEqual(run.reported, ['added quiet']);
    assert.ok(Number(run.asked[2]?.resourceVersion) > Number(run.asked[1]?.resourceVersion));
    assert.deepEqual(run.problems, []);
  });

  test('reports changes during an outage of the API server', async t => {
    await createNodes(cluster(), [{ name: 'stays' }, { name: 'goes' }]);
    const run = await start(t, cluster());
    await run.reflector.synced();
    run.reported.length = 0;
    await cluster().stopApiserver();
    await until(() => run.problems.length >= 2);
    await cluster().startApiserver();
    await deleteNodes(cluster(), ['goes']);
    await createNodes(cluster(), [{ name: 'comes' }]);
    await until(() => run.reported.length === 2, 60_000);
    assert.deepEqual([...run.reflector.store.keys()].sort(), ['comes', 'stays']);
    const reported = run.reported.map(text => text.replace(/ \(.*/, '')).sort();
    assert.deepEqual(reported, ['added comes', 'deleted goes']);
  });

  test('relists once after a 410 and reports a recreated object as deleted and added', async t => {
    await createNodes(cluster(), [{ name: 'reborn' }, { name: 'goes' }]);
    // The first watch is held back until all has happened, then starts from an expired resourceVersion.
    const held = Promise.withResolvers<void>();
    let expired = 0;
    const run = await start(t, cluster(), source => ({
      ...source,
      watch: async (options, onLine) => {
        if (options.initialEvents) return source.watch(options, onLine);
        await held.promise;
        return source.watch(expired++ === 0 ? { ...options, resourceVersion: '1' } : options, onLine);
      },
    }));
    await run.reflector.synced();
    const before = run.reflector.store.get('reborn')?.uid;
    run.reported.length = 0;
    await deleteNodes(cluster(), ['reborn', 'goes']);
    await createNodes(cluster(), [{ name: 'reborn' }]);
    // A restarted server has no history: version 1 is expired.
    await cluster().stopApiserver();
    await cluster().startApiserver();
    held.resolve();
    await until(() => run.reported.length === 3, 20_000);
    assert.deepEqual(run.reported.sort(), ['added reborn', 'deleted goes (unknown)', 'deleted reborn (unknown)']);
    assert.notEqual(run.reflector.store.get('reborn')?.uid, before);
    // Of a server without WatchList it is asked once.
    assert.equal(run.asked.filter(({ initialEvents }) => initialEvents).length, HAS_WATCH_LIST ? 2 : 1);
    assert.equal(run.lines.filter(line => line.includes('expired')).length, 1);
  });

  test('reports each change without waiting for the next', async t => {
    await createNodes(cluster(), [{ name: 'fast' }]);
    const run = await start(t, cluster());
    await run.reflector.synced();
    for (let round = 0; round < 20; round++) {
      run.reported.length = 0;
      await labelNode(cluster(), 'fast', { round: String(round) });
      await until(() => run.reported.length > 0);
    }
  });

  test('stop() ends it at once and keeps the store', async t => {
    const run = await start(t, cluster());
    await run.reflector.synced();
    const since = performance.now();
    await run.reflector.stop();
    assert.ok(performance.now() - since < 10_000);
    await raw(cluster()).expect('POST', '/api/v1/nodes', nodeObject({ name: 'late' }));
    assert.equal(run.reflector.store.get('late'), undefined);
  });
};

describe(
  'a reflector of nodes',
  casesOn((cluster, query) => {
    const transport = openTransport(cluster);
    return { source: listWatch(transport, NODES, query), close: () => transport.close() };
  }),
);

describe(
  'a reflector of nodes on client-node',
  casesOn(({ kubeconfig }, query) => {
    const load = () => {
      const config = new KubeConfig();
      config.loadFromFile(kubeconfig);
      return config;
    };
    const connection = new example.Connection(load, 'controller-test/1.0');
    return { source: example.listWatch(connection, '/api/v1/nodes', query), close() {} };
  }),
);

interface RunningReflector {
  reflector: Reflector<Node>;
  /** `added name`, and for deletions the kind of tombstone. */
  reported: string[];
  /** The options of every watch request. */
  asked: WatchRequestOptions[];
  pages(): number;
  /** Log lines of warnings and errors. */
  problems: string[];
  lines: string[];
}

async function startOn(
  open: Open,
  t: TestContext,
  cluster: ControlPlane,
  wrap: (source: Source) => Source = source => source,
  query: Record<string, string> = {},
): Promise<RunningReflector> {
  const { source: opened, close } = open(cluster, query);
  const [reported, asked, problems, lines]: [string[], WatchRequestOptions[], string[], string[]] = [[], [], [], []];
  let pages = 0;
  const real: Source = wrap(opened);
  const source: Source = {
    list: options => {
      pages += 1;
      return real.list(options);
    },
    watch: (options, onLine) => {
      asked.push(options);
      return real.watch(options, onLine);
    },
  };
  const reflector = new Reflector<Node>({
    name: 'nodes',
    source,
    transform: raw => toNode(raw, new KeptAnnotations()),
    store: new Store<Node>({ color: node => (node.labels.color === undefined ? [] : [node.labels.color]) }),
    clock: systemClock,
    random: Math.random,
    log: (level, message) => {
      if (level !== 'debug') lines.push(message);
      if (level === 'warning' || level === 'error') problems.push(message);
    },
  });
  reflector.subscribe(event => reported.push(describeEvent(event)));
  t.after(async () => {
    await reflector.stop();
    close();
  });
  reflector.start();
  return { reflector, reported, asked, pages: () => pages, problems, lines };
}

function describeEvent(event: StoreEvent<Node>): string {
  return event.type === 'deleted'
    ? `deleted ${event.tombstone.item.key} (${event.tombstone.kind})`
    : `${event.type} ${event.item.key}`;
}
