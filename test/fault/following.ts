/** The reflector alone behind a proxy, judged by the events of its store and its requests. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '../../src/controller/clock.ts';
import { Reflector } from '../../src/controller/reflector.ts';
import { Store } from '../../src/controller/store.ts';
import { NODES } from '../../src/kube/api/resource.ts';
import { listWatch } from '../../src/kube/api/watch.ts';
import { KeptAnnotations } from '../../src/kube/resources/kept-annotations.ts';
import { toNode } from '../../src/kube/resources/nodes.ts';
import type { Node, Taint } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { openTransport, until } from '../e2e/admin-transport.ts';
import { isList, isWatch } from './asked.ts';
import type { Test } from './fault-env.ts';
import { assertNeverBack } from './oracle.ts';
import { startProxy } from './proxy.ts';

export type Following = Awaited<ReturnType<typeof follow>>;

interface Live {
  metadata: { name: string; uid: string; resourceVersion: string; labels: Record<string, string> };
  spec: { taints?: Taint[] };
}

/** Follows the nodes through a proxy; resolves when the first watch is open. @param isJson answers in JSON only */
export async function follow(t: Test, cluster: ControlPlane, isJson = false) {
  const proxy = await startProxy(cluster, cluster.dir);
  proxy.isJson = isJson;
  const transport = openTransport(proxy);
  const [reported, log]: [string[], string[]] = [[], []];
  const store = new Store<Node>();
  const reflector = new Reflector<Node>({
    name: 'nodes',
    source: listWatch(transport, NODES),
    transform: raw => toNode(raw, new KeptAnnotations()),
    store,
    clock: systemClock,
    random: Math.random,
    log: (level, message) => level !== 'debug' && log.push(`${level} ${message}`),
  });
  reflector.subscribe(event =>
    reported.push(`${event.type} ${(event.type === 'deleted' ? event.tombstone.item : event.item).key}`),
  );
  t.after(async () => {
    await reflector.stop();
    transport.close();
    await proxy.stop();
  });
  reflector.start();
  const lists = () => proxy.requests.filter(isList).length;
  const watches = () => proxy.requests.filter(asked => isWatch(asked) && !isList(asked));
  const versions = () => watches().map(({ query }) => query.get('resourceVersion'));
  await until(() => watches().length === 1);
  return { cluster, proxy, store, reported, log, lists, watches, versions };
}

/**
 * The oracle for the reflector: the store equals the server's objects, each node was reported as added and as deleted exactly
 * as often as that happened, and no watch began at an older resourceVersion than the one before.
 * @param created the names of all nodes that ever existed, each once
 */
export async function judge({ cluster, proxy, store, reported }: Following, ...created: string[]): Promise<void> {
  const { items } = (await raw(cluster).expect('GET', '/api/v1/nodes')) as { items: Live[] };
  const states = new Map(
    items.map(({ metadata: { name, uid, resourceVersion, labels }, spec: { taints = [] } }) => {
      return [name, { uid, resourceVersion, labels, taints }];
    }),
  );
  const stored = () =>
    new Map(
      [...store.items()].map(({ key, uid, resourceVersion, object: { labels, taints } }) => {
        return [key, { uid, resourceVersion, labels, taints }];
      }),
    );
  await until(() => isDeepStrictEqual(stored(), states));
  const gone = created.filter(name => !store.get(name));
  const comesAndGoes = [...created.map(name => `added ${name}`), ...gone.map(name => `deleted ${name}`)];
  assert.deepEqual(reported.filter(event => !event.startsWith('updated ')).sort(), comesAndGoes.sort());
  assertNeverBack(proxy.requests);
}
