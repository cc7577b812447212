/** Pools with spec.matchExpressions, by the commands and by a watch. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Requirement } from '../../src/nodepool/membership/label-query.ts';
import { matches, selectorText } from '../../src/nodepool/membership/selector.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { condition, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);
const POOL = 'nodes.lailin.xyz/pool';
const CONTROL_PLANE = { 'node-role.kubernetes.io/control-plane': '' };

const has = (key: string, operator: string, ...values: string[]): Requirement => ({
  key,
  operator,
  ...(values.length > 0 ? { values } : {}),
});
const poolOf = async (node: string) => (await testEnv.node(node)).metadata.labels[POOL];
const selectorOf = async (pool: string) => (await testEnv.runtimeClass(pool))?.scheduling?.nodeSelector;

test('reconcile labels matching nodes, and the RuntimeClass selects them', async () => {
  await testEnv.nodes(
    { name: 'a', labels: { size: '8', zone: 'a' } },
    { name: 'b', labels: { size: '16', zone: 'b', spot: '' } },
    { name: 'c', labels: { size: '4', zone: 'a' } },
    { name: 'd', labels: { size: 'large', zone: 'b' } },
  );
  const selector = ['--node-selector', 'zone in (a,b),size>4', '--node-selector', 'spot!=yes'];
  const flags = ['--label', 'tier=gold', '--handler', 'runc', '--reconcile'];
  const created = await cliHere(cluster(), ['create', 'big', ...selector, ...flags]);
  assert.equal(created.code, 0, created.stderr);
  assert.deepEqual((await testEnv.getPool('big'))?.spec, {
    labels: { tier: 'gold' },
    handler: 'runc',
    matchExpressions: [has('zone', 'In', 'a', 'b'), has('size', 'Gt', '4'), has('spot', 'NotIn', 'yes')],
  });
  assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map(poolOf)), ['big', 'big', undefined, undefined]);
  assert.deepEqual(await selectorOf('big'), { [POOL]: 'big', tier: 'gold' });
  assert.equal((await unchanged(['reconcile'])).code, 0);
  assert.equal((await unchanged(['diff'])).code, 0);
  assert.match(await ok(['get', '-o', 'wide']), / zone_in_\(a,b\),size>4,spot_notin_\(yes\) /);
  assert.match(await ok(['describe', 'big']), /Node Selector: +zone in \(a,b\)\n +size>4\n +spot notin \(yes\)\n/);
  assert.match(
    await ok(['nodes', '--why', 'c']),
    /pool big: does not match\n {2}= zone in \(a,b\) +the node has zone=a\n {2}! size>4 +the node has size=4\n {2}= spot notin \(yes\) +the node does not have this label/,
  );

  const edited = await cliHere(cluster(), ['edit', 'big', '--node-selector', 'size-,zone=a', '--yes', '--reconcile']);
  assert.equal(edited.code, 0, edited.stderr);
  assert.match(edited.stderr, /1 of 2 nodes leave pool big with the new selector: b; no pool takes them/);
  const { nodeSelector, matchExpressions } = (await testEnv.getPool('big'))?.spec ?? {};
  assert.deepEqual([nodeSelector, matchExpressions], [{ zone: 'a' }, [has('spot', 'NotIn', 'yes')]]);
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(poolOf)), ['big', undefined, 'big']);
  assert.deepEqual(await selectorOf('big'), { zone: 'a', [POOL]: 'big', tier: 'gold' });
  await testEnv.delete(['big']);
  assert.deepEqual([await poolOf('a'), await testEnv.runtimeClass('big')], [undefined, undefined]);
});

test('a watch follows changes of matching nodes and of expressions', async t => {
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: { spot: 'yes', batch: '' } });
  const taint = { key: 'rest', effect: 'NoSchedule' as const };
  await testEnv.pool('rest', { matchExpressions: [has('spot', 'DoesNotExist')], taints: [taint], handler: 'runc' });
  const watching = await startWatching(t, cluster());
  const becomes = (node: string, pool: string | undefined) =>
    eventually(`${node} is in pool ${pool}`, async () => {
      const tainted = taintsOf(await testEnv.node(node)).includes('rest:NoSchedule');
      return (await poolOf(node)) === pool && tainted === (pool !== undefined);
    });
  await becomes('a', 'rest');
  await testEnv.patchNode('a', { metadata: { labels: { spot: 'yes' } } });
  await becomes('a', undefined);
  await testEnv.patchNode('b', { metadata: { labels: { spot: null } } });
  await becomes('b', 'rest');
  await testEnv.nodes({ name: 'c' });
  await becomes('c', 'rest');
  // Somebody takes the label off that the RuntimeClass selects by.
  await testEnv.patchNode('c', { metadata: { labels: { [POOL]: null } } });
  await becomes('c', 'rest');

  await testEnv.edit('rest', { spec: { matchExpressions: null, nodeSelector: { batch: '' } } });
  await eventually('no node has the label', async () => (await poolOf('b')) === undefined);
  await becomes('c', undefined);
  assert.deepEqual(taintsOf(await testEnv.node('b')), ['rest:NoSchedule']);
  assert.deepEqual(await selectorOf('rest'), { batch: '' });
  await testEnv.edit('rest', { spec: { matchExpressions: [has('batch', 'Exists')], nodeSelector: null } });
  await becomes('b', 'rest');
  assert.deepEqual(await selectorOf('rest'), { [POOL]: 'rest' });
  await eventually('the status follows', async () => (await testEnv.getPool('rest'))?.status?.observedGeneration === 3);
  assert.deepEqual((await testEnv.getPool('rest'))?.status?.nodeCount, 1);
  assert.equal(await watching.end(), 0);
});

test('of two matching pools the older one gets a node, and keeps it while it matches', async () => {
  await testEnv.nodes({ name: 'a', labels: { size: '8' } }, { name: 'b', labels: { size: '2' } });
  await testEnv.pool('big', { matchExpressions: [has('size', 'Gt', '4')] });
  await testEnv.pool('all', { matchExpressions: [has('size', 'Exists')] }, { younger: true });
  await testEnv.reconcile();
  assert.deepEqual([await poolOf('a'), await poolOf('b')], ['big', 'all']);
  assert.match(condition(await testEnv.getPool('all'), 'Conflict').message, /node a/);
  await testEnv.patchNode('b', { metadata: { labels: { size: '6' } } });
  await testEnv.reconcile();
  assert.equal(await poolOf('b'), 'all', 'it holds the node');
  await testEnv.patchNode('a', { metadata: { labels: { size: '3' } } });
  await testEnv.reconcile();
  assert.equal(await poolOf('a'), 'all');
});

test('add and move require nodes that meet the expressions, and remove no label for them', async () => {
  await testEnv.nodes({ name: 'a', labels: { size: '8' } }, { name: 'b', labels: { size: '2' } }, { name: 'c' });
  await testEnv.pool('big', { nodeSelector: { own: 'big' }, matchExpressions: [has('size', 'Gt', '4')] });
  await testEnv.pool('sized', { matchExpressions: [has('size', 'Exists'), has('os', 'DoesNotExist')] });
  await testEnv.pool('rest', { matchExpressions: [has('size', 'DoesNotExist')] });
  await testEnv.reconcile();
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(poolOf)), ['sized', 'sized', 'rest']);
  await refused(
    ['move', 'b', '--to', 'big'],
    1,
    'error: node b has the label size=2, but members of pool big meet size>4; next: use other nodes, or change the label: `kubectl label node b size=NUMBER --overwrite`',
  );
  await refused(
    ['move', 'c', '--to', 'big'],
    1,
    'error: node c has no label size, but members of pool big meet size>4; next: use other nodes, or change the label: `kubectl label node c size=NUMBER --overwrite`',
  );
  await refused(
    ['move', 'a', '--to', 'big'],
    1,
    /^error: node a cannot leave pool sized: that pool selects the node by size,!os, which pool big also needs; next: add a label of your own to the selector/,
  );
  await refused(
    ['remove', 'rest', 'c'],
    1,
    /^error: node c cannot be removed from pool rest: that pool selects nodes without a label, !size; next: /,
  );
  await refused(
    ['remove', 'sized', 'b'],
    1,
    'error: node b cannot be removed from pool sized: that pool selects the node by an expression on the label size, which others may also use; next: remove the label yourself: `kubectl label node b size-`, or change the selector of the pool: `kubectl nodepool edit sized`',
  );
  await testEnv.patchNode('b', { metadata: { labels: { own: 'big', size: '6' } } });
  await refused(
    ['move', 'b', '--to', 'rest'],
    1,
    /^error: node b has the label size=6, but members of pool rest meet !size/,
  );
  // It is in sized until that, and no label of sized can go.
  await testEnv.pool('own', { nodeSelector: { mine: '' } });
  await refused(
    ['move', 'b', '--to', 'own'],
    1,
    /^error: node b cannot leave pool sized: .* `kubectl label node b size-`/,
  );
  await testEnv.patchNode('b', { metadata: { labels: { size: null } } });
  assert.equal(await ok(['nodes', '--why', 'b']).then(text => text.split('\n')[0]), 'node b is in pool rest');
});

test('create counts the nodes that a selector without labels matches, and diff shows them', async () => {
  await testEnv.nodes({ name: 'cp', labels: CONTROL_PLANE }, { name: 'a' });
  const { code, stderr } = await cliHere(cluster(), ['create', 'rest', '--node-selector', '!spot']);
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^warning: pool rest selects 2 nodes, 1 of them in the control plane: cp; its selector requires no label, so new nodes join automatically; next: exclude the control plane with `kubectl nodepool edit rest --node-selector '!node-role/m,
  );
  const diff = await unchanged(['diff']);
  assert.deepEqual([diff.code, diff.stdout.match(/^joins .*/gm)], [1, ['joins pool rest: 2 nodes (a, cp)']]);
  const edit = ['edit', 'rest', '--node-selector', '!node-role.kubernetes.io/control-plane', '--reconcile', '--yes'];
  assert.equal((await cliHere(cluster(), edit)).code, 0);
  assert.deepEqual([await poolOf('cp'), await poolOf('a')], [undefined, 'rest']);
});

test('the server matches the same nodes with the selector as text', async () => {
  const labels: Record<string, Record<string, string>> = {
    a: { n: '5', zone: 'a' },
    b: { n: '08', zone: '' },
    c: { n: 'x' },
    d: { zone: 'b', n: '9223372036854775808' },
    e: {},
  };
  await testEnv.nodes(...Object.entries(labels).map(([name, each]) => ({ name, labels: each })));
  for (const expressions of [
    [has('zone', 'In', 'a', 'b')],
    [has('zone', 'In', '')],
    [has('zone', 'In', '', 'b')],
    [has('zone', 'NotIn', 'a')],
    [has('zone', 'NotIn', '')],
    [has('zone', 'Exists'), has('n', 'NotIn', '5')],
    [has('zone', 'DoesNotExist')],
    [has('n', 'Gt', '4')],
    [has('n', 'Gt', '5')],
    [has('n', 'Lt', '9')],
    [has('n', 'Gt', '4'), has('n', 'Lt', '8')],
  ]) {
    const selector = { labels: {}, expressions };
    const text = selectorText(selector);
    const path = `/api/v1/nodes?labelSelector=${encodeURIComponent(text)}`;
    const { items } = (await raw(cluster()).expect('GET', path)) as { items: { metadata: { name: string } }[] };
    const ours = Object.keys(labels).filter(name => matches(selector, labels[name] ?? {}));
    assert.deepEqual(ours, items.map(({ metadata }) => metadata.name).toSorted(), text);
  }
});
