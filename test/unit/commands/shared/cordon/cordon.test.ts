import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CordonOptions, cordonNodes, findNodes } from '../../../../../src/commands/shared/cordon/cordon.ts';
import { type ForeignCordon, laterCordonOf } from '../../../../../src/commands/shared/cordon/show-cordon.ts';
import type { ClusterReader, NodeWrite } from '../../../../../src/kube/cluster.ts';
import type { CordonChange } from '../../../../../src/nodepool/drain/plan-cordon.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { FieldSetter } from '../../../../../src/nodepool/plan/change.ts';
import type { Node, NodePool } from '../../../../../src/nodepool/types.ts';

const NOW = new Date('2026-11-24T12:00:00Z');
const pool = { apiVersion: '', kind: '', metadata: { name: 'p' }, spec: { nodeSelector: { in: 'p' } } } as NodePool;

function makeNode(name: string, more: Partial<Node> = {}): Node {
  const rest = { creationTimestamp: '', labels: { in: 'p' }, taints: [], ready: true, unschedulable: false };
  return { name, uid: name, resourceVersion: '1', allocatable: {}, ...rest, ...more };
}

/** @param answer the response to the nth write of the node */
function fakeCluster(nodes: Node[], answer: (name: string, nth: number) => NodeWrite | NodepoolError) {
  const writes: string[] = [];
  const deps: CordonOptions & { cluster: ClusterReader } = {
    cluster: {
      pools: {
        listCoerced: async () => [pool],
      },
      nodes: {
        list: async () => nodes,
        serverTime: () => new Date(),
        get: async name => nodes.find(node => node.name === name),
        async patch(name, patch) {
          writes.push(`${name} ${JSON.stringify(patch)}`);
          const given = answer(name, writes.filter(line => line.startsWith(`${name} `)).length);
          if (given instanceof NodepoolError) throw given;
          if (given.kind !== 'written') return given;
          const { unschedulable = given.node.unschedulable, maintenance } = patch;
          return { ...given, node: { ...given.node, unschedulable, ...(maintenance ? { maintenance } : {}) } };
        },
      },
    },
    maintenance: {
      owner: async () => ({ name: 'alice', from: 'server' }),
      publish: async () => undefined,
      record: async () => undefined,
    },
    dryRun: 'none',
    now: () => NOW,
    sleep: async () => {},
  };
  const cordon = async (unschedulable = true, more: Partial<CordonChange> = {}) =>
    Promise.all(cordonNodes(nodes, { unschedulable, ...more }, deps));
  return { deps, writes, cordon };
}

const CONFLICT: NodeWrite = { kind: 'conflict' };
const written = (): NodeWrite => ({ kind: 'written', node: makeNode('x') });

test('sends one guarded patch only if unschedulable differs', async () => {
  const { writes, cordon } = fakeCluster([makeNode('a'), makeNode('b', { unschedulable: true })], written);
  assert.deepEqual(await cordon(), [
    { kind: 'changed', node: 'a' },
    { kind: 'already', node: 'b' },
  ]);
  assert.deepEqual(writes, ['a {"resourceVersion":"1","unschedulable":true}']);
  writes.length = 0;
  await cordon(false);
  assert.deepEqual(writes, ['b {"resourceVersion":"1","unschedulable":false}']);
});

test('reads the node again after a conflict, as someone else may have cordoned it', async () => {
  const nodes = [makeNode('a'), makeNode('b')];
  const { writes, cordon } = fakeCluster(nodes, (name, nth) => {
    if (nth > 1) return written();
    nodes[name === 'a' ? 0 : 1] = makeNode(name, { resourceVersion: '2', unschedulable: name === 'a' });
    return CONFLICT;
  });
  const results = await cordon();
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['already', 'changed'],
  );
  assert.equal(writes.at(-1), 'b {"resourceVersion":"2","unschedulable":true}');
});

test('does not change a new node with the same name', async () => {
  const nodes = [makeNode('a')];
  const { writes, cordon } = fakeCluster(nodes, () => {
    nodes[0] = makeNode('a', { uid: 'another', resourceVersion: '2' });
    return CONFLICT;
  });
  assert.deepEqual(await cordon(), [{ kind: 'gone', node: 'a' }]);
  assert.equal(writes.length, 1);
});

test('reports failures and continues, and does not count a deleted node as a failure', async () => {
  const nodes = ['a', 'b', 'c', 'd'].map(name => makeNode(name));
  const refusal = new NodepoolError('cluster', 'cannot patch nodes');
  const { cordon } = fakeCluster(nodes, name => {
    return { a: refusal, b: { kind: 'gone' } as const, c: CONFLICT }[name] ?? written();
  });
  const results = await cordon();
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['failed', 'gone', 'failed', 'changed'],
  );
  assert.equal(results[2]?.kind === 'failed' && results[2].error.message, 'somebody else keeps changing it');
});

test('finds members by name, and refuses non-members before any write', async () => {
  const { deps } = fakeCluster([makeNode('b'), makeNode('a'), makeNode('c', { labels: {} })], written);
  const find = async (...nodes: string[]) =>
    (await findNodes('cordon', { pools: ['p', 'p'], nodes }, deps.cluster)).map(({ name }) => name);
  assert.deepEqual(await find(), ['a', 'b']);
  assert.deepEqual(await find('b'), ['b']);
  const one = { kind: 'input', message: '--node: node "c" is not a member of pool p' };
  await assert.rejects(find('a', 'c'), one);
  await assert.rejects(find('x', 'y'), { message: '--node: nodes "x", "y" are not members of pool p' });
});

test('an uncordon after a conflict keeps a cordon that somebody set after the yes', async () => {
  const names = ['own', 'agreed', 'again', 'open'];
  const nodes = names.map(name => makeNode(name, { unschedulable: true }));
  const { deps, writes } = fakeCluster(nodes, (name, nth) => {
    if (nth > 1) return written();
    nodes[names.indexOf(name)] = makeNode(name, { resourceVersion: '2', unschedulable: name !== 'open' });
    return CONFLICT;
  });
  const since = (time: string): FieldSetter => ({ manager: 'kubectl-cordon', operation: 'Update', time });
  const setters: Record<string, FieldSetter> = { agreed: since('12:00'), again: since('12:05'), open: since('12:05') };
  const cluster = { nodes: { fieldSetters: async (name: string) => [setters[name]] } };
  const theirs: ForeignCordon[] = ['agreed', 'again'].map(name => {
    return { node: makeNode(name), by: 'kubectl-cordon, 12:00' };
  });
  const uncordon = async (laterCordon?: CordonOptions['laterCordon']) =>
    (await Promise.all(cordonNodes([...nodes], { unschedulable: false }, { ...deps, laterCordon }))).map(result =>
      result.kind === 'failed' ? result.error.message : result.kind,
    );
  const asked = await uncordon(laterCordonOf(theirs, {}, { ...deps, cluster }));
  assert.deepEqual(asked, ['changed', 'changed', 'kubectl-cordon, 12:05 cordoned the node meanwhile', 'already']);
  assert.equal(writes.filter(line => line.startsWith('again')).length, 1);
  // With --yes, nobody was asked.
  writes.length = 0;
  assert.deepEqual(await uncordon(), ['changed', 'changed', 'changed', 'already']);
});
