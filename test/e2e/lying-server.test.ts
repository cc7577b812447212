/**
 * A server, or a proxy before it, that answers with values of other types: no command reports a bug, and none writes anything
 * except the status of a pool. test/unit/properties/wrong-shapes.test.ts has every field.
 */

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { type Asked, isWatch } from '../fault/asked.ts';
import { type FaultProxy, startProxy } from '../fault/proxy.ts';
import { stateOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';

type Json = Record<string, unknown>;
type Lie = (body: Json) => unknown;

const testEnv = useTestEnv();
const NAMESPACES = '/api/v1/namespaces';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/nodepool-system/leases';
const RESOURCES = ['nodes', 'nodepools', 'pods', 'events', 'runtimeclasses', 'leases', 'controllerrevisions'];
const COMMANDS = [
  ...[['get'], ['describe', 'w'], ['nodes'], ['top'], ['doctor'], ['history', 'w'], ['history', 'a'], ['events']],
  ...[['diff'], ['rollout', 'history', 'w'], ['reconcile'], ['delete', 'w', '--dry-run=server']],
];

/** With another value of a field, or without the field. */
function set(value: unknown, ...path: string[]): Lie {
  const change = (object: Json, [key = '', ...rest]: string[]): Json => {
    const { [key]: old, ...others } = object;
    if (rest.length > 0) return { ...others, [key]: change((old ?? {}) as Json, rest) };
    return value === undefined ? others : { ...others, [key]: value };
  };
  return object => change(object, path);
}

const nulls: Lie = ({ metadata, ...fields }) => {
  return { metadata, ...Object.fromEntries(Object.keys(fields).map(key => [key, null])) };
};
const OF_OBJECTS: Record<string, Lie> = {
  'conditions: ["x"]': set(['x'], 'status', 'conditions'),
  'no name': set(undefined, 'metadata', 'name'),
  'null in each field': nulls,
  null: () => null,
};
const OF_LISTS: Record<string, Lie> = {
  'items: "x"': set('x', 'items'),
  '[]': () => [],
};

const readsOf = (resource: string) => new RegExp(`/${resource}(/[^/]+)?$`);

/** Changes what the server answers to reads of a resource: each object, or the list. */
function lies(proxy: FaultProxy, resource: string, lie: Lie, isOfList: boolean, methods = ['GET']): () => void {
  const isMeant = ({ method, path }: Asked) => methods.includes(method) && readsOf(resource).test(path);
  return proxy.onRequest(asked => {
    if (isWatch(asked) || !isMeant(asked)) return undefined;
    return async ({ forward, pass, client }) => {
      const answer = await forward();
      if (answer.statusCode !== 200 && answer.statusCode !== 201) return pass(answer);
      const body = JSON.parse(await text(answer)) as Json;
      const { items } = body;
      let lied: unknown = body;
      if (Array.isArray(items) === isOfList) lied = lie(body);
      else if (Array.isArray(items)) lied = { ...body, items: items.map(lie) };
      client.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(lied));
    };
  });
}

/** Pool w with a node, a pod, a RuntimeClass and a revision, and the lease of a controller. */
async function prepare(t: { after(fn: () => unknown): void }): Promise<FaultProxy> {
  const api = raw(testEnv.cluster());
  await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b' });
  const taints = [{ key: 'gold', effect: 'NoSchedule' as const }];
  await testEnv.pool('w', { labels: { tier: 'gold' }, taints, handler: 'runc', rollout: {} });
  await testEnv.reconcile();
  await api.request('POST', NAMESPACES, { metadata: { name: 'nodepool-system' } });
  const spec = { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' };
  await api.request('POST', LEASES, { metadata: { name: 'nodepool-controller' }, spec });
  await api.request('POST', `${NAMESPACES}/default/serviceaccounts`, { metadata: { name: 'default' } });
  const pod = { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] };
  await api.request('POST', `${NAMESPACES}/default/pods`, { metadata: { name: 'p' }, spec: pod });
  const proxy = await startProxy(testEnv.cluster(), testEnv.cluster().dir);
  t.after(() => proxy.stop());
  proxy.isJson = true;
  return proxy;
}

async function run({ kubeconfig }: FaultProxy, args: readonly string[]) {
  const { dir } = testEnv.cluster();
  const { code, stdout, stderr } = await cliHere({ kubeconfig, dir }, [...args, '--request-timeout=10s']);
  return { code, shown: stdout + stderr };
}

/** All but the status of pools. */
async function written(): Promise<unknown> {
  const { '/apis/nodes.lailin.xyz/v1/nodepools': _, ...others } = await stateOf(testEnv.cluster());
  const { metadata, spec } = (await testEnv.getPool('w')) ?? {};
  const { resourceVersion: _version, managedFields: _fields, ...kept } = metadata as unknown as Json;
  return { ...others, metadata: kept, spec };
}

test('objects and lists of other types cause neither bugs nor writes', { timeout: 300_000 }, async t => {
  const proxy = await prepare(t);
  const before = await written();
  const asked = new Map<string[], string[]>();
  for (const args of COMMANDS) {
    const from = proxy.requests.length;
    await run(proxy, args);
    asked.set(
      args,
      proxy.requests.slice(from).map(({ path }) => path),
    );
  }
  for (const resource of RESOURCES) {
    const isRead = (path: string) => readsOf(resource).test(path);
    const commands = COMMANDS.filter(args => asked.get(args)?.some(isRead));
    assert.ok(commands.length > 0, resource);
    for (const [name, lie] of [...Object.entries(OF_OBJECTS), ...Object.entries(OF_LISTS)]) {
      const stop = lies(proxy, resource, lie, name in OF_LISTS);
      for (const args of commands) {
        const { code, shown } = await run(proxy, args);
        const what = `${resource}, ${name}: ${args.join(' ')}: ${code} ${shown}`;
        assert.doesNotMatch(shown, /this is a bug|TypeError|undefined|\[object/, what);
        assert.ok(code === 0 || shown !== '', what);
      }
      stop();
      assert.deepEqual(await written(), before, `${resource}, ${name}`);
    }
  }
});

test('responses of other types to writes and /version cause no bugs', async t => {
  const proxy = await prepare(t);
  const deepNulls = (value: unknown): unknown => {
    if (Array.isArray(value)) return [null];
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, deepNulls(each)]));
  };
  const numbers: Lie = body => Object.fromEntries(Object.keys(body).map(key => [key, 7]));
  const all: Record<string, Lie> = { ...OF_OBJECTS, 'nulls in lists': deepNulls, numbers };
  for (const [name, lie] of Object.entries(all)) {
    const stops = [lies(proxy, 'nodepools', lie, false, ['PATCH', 'POST']), lies(proxy, 'version', lie, false)];
    for (const args of [
      ['edit', 'w', '--label', 'tier=silver', '--dry-run=server'],
      ['create', 'z', '--label', 'x=y', '--dry-run=server'],
      ['rollout', 'pause', 'w', '--dry-run=server'],
      ['version'],
    ]) {
      const { code, shown } = await run(proxy, args);
      const what = `${name}: ${args.join(' ')}: ${code} ${shown}`;
      assert.doesNotMatch(shown, /this is a bug|TypeError|undefined|\[object/, what);
      assert.ok(code === 0 || shown !== '', what);
    }
    for (const stop of stops) stop();
  }
});

test('a deletion does not complete while nodes without a name may be members', async t => {
  const proxy = await prepare(t);
  const stop = lies(proxy, 'nodes', OF_OBJECTS['no name'] ?? assert.fail(), false);
  const { code, shown } = await run(proxy, ['delete', 'w']);
  assert.equal(code, 1, shown);
  assert.match(shown, /error: cannot read the answer of \S+: metadata\.name is missing; next: /);
  assert.notEqual((await testEnv.getPool('w'))?.metadata.deletionTimestamp, undefined);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'gold');
  stop();
  assert.equal((await run(proxy, ['delete', 'w'])).code, 0);
  assert.equal(await testEnv.getPool('w'), undefined);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, undefined);
});
