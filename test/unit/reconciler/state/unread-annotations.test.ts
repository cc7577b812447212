/** Nodes that were read before their pool set an annotation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimiter } from '../../../../src/controller/limiter.ts';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER, type Node } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { annotationReader, hasUnread, readAnnotations } from '../../../../src/reconciler/state/unread-annotations.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';
import { begin, fresh, role } from '../node-server.ts';
import { aNodeWriter, emptyNodeOutcome } from '../reconciler-options.ts';

const pool = aPool({ annotations: { owner: 'us' } }, { finalizers: [FINALIZER] });
const kept = new Set(['owner']);
const whole = (node: Node, owner?: string): Node => ({
  ...node,
  ...(owner === undefined ? {} : { annotations: { owner } }),
  keptAnnotations: kept,
});

test('reads a node before it replaces an annotation value that was not kept, and restores it later', async () => {
  const { server, state, writer } = begin(fresh, [pool]);
  server.live = whole(fresh, 'theirs');
  assert.equal(writer.needsWrite('n1'), true);
  const move = await writer.write('n1');
  assert.deepEqual(server.requests, ['get n1', 'patch n1']);
  assert.deepEqual(server.live?.annotations, { owner: 'us' });
  assert.deepEqual(
    move?.changes.map(({ action, from, to }) => [action, from, to]),
    [['change', 'theirs', 'us']],
  );
  state.removePool('worker', pool.metadata.uid);
  await writer.write('n1');
  assert.deepEqual([server.live?.annotations, server.live?.record], [{ owner: 'theirs' }, undefined]);
});

test('does not report foreign annotations from a later read as an altered write', async () => {
  const labels = aPool({ labels: { tier: 'gold' } }, { finalizers: [FINALIZER] });
  const { server, state, writer } = begin(fresh, [labels]);
  server.admit = node => {
    // The pool gets an annotation while the labels are written.
    const spec = { ...labels.spec, ...pool.spec };
    if (server.sent.length === 1) state.setPool({ ...labels, metadata: { ...labels.metadata, generation: 2 }, spec });
    return whole(node, node.annotations?.owner ?? 'theirs');
  };
  assert.equal((await writer.write('n1'))?.to, 'worker');
  assert.deepEqual([server.sent.length, server.live?.annotations], [2, { owner: 'us' }]);
});

test('reports an annotation that a webhook changes or removes', async () => {
  for (const [annotations, text] of [
    [{ owner: 'x'.repeat(300) }, /: annotation owner was sent with value "us" and is "x{150,200}…"$/],
    [{}, /: annotation owner was sent with value "us" and removed$/],
  ] as const) {
    const { server, writer } = begin(whole(fresh), [pool]);
    server.admit = node => ({ ...node, annotations });
    await assert.rejects(writer.write('n1'), text);
  }
});

const names = ['a', 'b', 'c'];
const unread = () => names.map(name => aNode({ name, uid: name, labels: role('worker') }));

function reconcile(nodes: Node[], list: (selector?: string) => Promise<Node[]>) {
  const state = new ClusterState([pool], nodes, []);
  const requests: string[] = [];
  const live = new Map(unread().map(node => [node.name, whole(node)]));
  const cluster = {
    nodes: {
      list: async (selector?: string) => {
        requests.push(`list ${selector}`);
        return list(selector);
      },
      get: async (name: string) => {
        requests.push(`get ${name}`);
        return live.get(name);
      },
      patch: async (name: string) => {
        requests.push(`patch ${name}`);
        return { kind: 'gone' };
      },
    },
  } as unknown as ClusterPort;
  const writer = aNodeWriter(cluster, state, { limitObjects: createLimiter(1) });
  return { requests, done: writer.apply('worker', emptyNodeOutcome()) };
}

test('reads many members without annotations with one list of their pool', async () => {
  const { requests, done } = reconcile(unread(), async () => unread().map(node => whole(node)));
  await done;
  const reads = requests.filter(request => !request.startsWith('get'));
  assert.deepEqual(reads, ['list node-role.kubernetes.io/worker=', ...names.map(name => `patch ${name}`)]);
});

test('reads single members, and members that could not be listed, one by one', async () => {
  const [first = assert.fail(), ...others] = unread();
  const { requests, done } = reconcile([first, ...others.map(node => whole(node))], assert.fail);
  await done;
  assert.deepEqual(requests.slice(0, 2), ['get a', 'patch a']);
  const refused = reconcile(unread(), () => Promise.reject(new NodepoolError('cluster', 'no')));
  await refused.done;
  assert.deepEqual(refused.requests.slice(0, 3), ['list node-role.kubernetes.io/worker=', 'get a', 'patch a']);
});

test('lists again only when a pool sets annotations that members were read without', async () => {
  const state = new ClusterState([pool], unread(), []);
  await readAnnotations(state, async () => unread().map(node => whole(node, 'theirs')));
  assert.deepEqual([hasUnread(state), state.node('a')?.annotations], [false, { owner: 'theirs' }]);
  await readAnnotations(state, assert.fail);
  await readAnnotations(new ClusterState([aPool()], unread(), []), assert.fail);
  const record = '{"pool":"worker","annotations":{"owner":"us"}}';
  const recorded = unread().map(node => ({ ...node, record }));
  await readAnnotations(new ClusterState([pool], recorded, []), assert.fail);
});

test('a display runs one list at a time, and continues after a refusal', async () => {
  const state = new ClusterState([pool], unread(), []);
  const answers = [Promise.withResolvers<Node[]>(), Promise.withResolvers<Node[]>()];
  let [lists, reads] = [0, 0];
  const read = annotationReader(
    () => answers[lists++]?.promise ?? assert.fail(),
    () => state,
    () => reads++,
  );
  read();
  read();
  answers[0]?.reject(new NodepoolError('cluster', 'no'));
  await answers[0]?.promise.catch(() => {});
  await new Promise(setImmediate);
  assert.deepEqual([lists, reads], [1, 0]);
  read();
  answers[1]?.resolve(unread().map(node => whole(node)));
  await new Promise(setImmediate);
  read();
  assert.deepEqual([lists, reads], [2, 1]);
});
