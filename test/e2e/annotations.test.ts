/** spec.annotations on a real API server: set, repaired, restored and moved, also with values that were not kept in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { NODE_ANNOTATIONS } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { mutatingPolicy } from '../fault/mutating.ts';
import { commandsOf, poolYaml } from './commands.ts';
import { condition, role, statuses, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { ok, refused, unchanged } = commandsOf(testEnv.cluster);
const LARGE = 'theirs, {"a": "é"}\n'.repeat(2_000);

/** Without the record, and those of every node. */
async function annotationsOf(name: string): Promise<Record<string, string>> {
  const { annotations = {} } = (await testEnv.node(name)).metadata;
  const isOther = (key: string) => key === RECORD_ANNOTATION || key in NODE_ANNOTATIONS;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !isOther(key)));
}
const annotate = (name: string, annotations: Record<string, string | null>) =>
  testEnv.patchNode(name, { metadata: { annotations } });

/** Requests of the product for nodes since the mark, as `verb name`. */
async function nodeRequests(since: number): Promise<string[]> {
  const events = (await readAudit(testEnv.cluster())).slice(since);
  return events
    .filter(({ resource, userAgent }) => resource === 'nodes' && userAgent?.startsWith('kubectl-nodepool/'))
    .map(({ verb, name }) => `${verb} ${name ?? ''}`.trim());
}

test('sets annotations once, repairs drift, and restores values on release', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') }, { name: 'b', labels: role('worker') });
  await annotate('a', { 'example.com/owner': LARGE, foreign: 'x' });
  await testEnv.pool('worker', { annotations: { 'example.com/owner': 'team a, b', note: '' } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 200 });
  assert.deepEqual(await annotationsOf('a'), { 'example.com/owner': 'team a, b', note: '', foreign: 'x' });
  assert.deepEqual(await annotationsOf('b'), { 'example.com/owner': 'team a, b', note: '' });
  const pool = await testEnv.getPool('worker');
  assert.equal(pool?.status?.updatedNodeCount, 2);
  assert.equal(condition(pool, 'Applied')?.message, 'every member has the labels, taints and annotations of the pool');

  const before = await testEnv.node('a');
  await testEnv.reconcile();
  assert.deepEqual(await testEnv.node('a'), before);

  await annotate('a', { 'example.com/owner': 'drifted', note: null });
  const drift = await ok(['nodes']);
  assert.match(drift, /^a .* ~example.com\/owner=team_a,_b,\+1 /m);
  const shown = await ok(['nodes', '-o', 'wide']);
  assert.match(shown, /^a .* ~example.com\/owner=team_a,_b,\+note= /m);
  await testEnv.reconcile();
  assert.equal((await annotationsOf('a'))['example.com/owner'], 'team a, b');

  await testEnv.edit('worker', { spec: { annotations: { note: null } } });
  await testEnv.reconcile();
  assert.deepEqual(await annotationsOf('b'), { 'example.com/owner': 'team a, b' });
  await testEnv.delete(['worker']);
  assert.deepEqual(
    [await annotationsOf('a'), await annotationsOf('b')],
    // Somebody else changed the one of `a` meanwhile: what was there before them is past.
    [{ foreign: 'x' }, {}],
  );
});

test('accepts annotation values with any characters in guarded writes', async () => {
  const text = '<a href="x">&amp;</a> \u2028\u2029 \b\f\n\r\t\u0001\u001f\u007f\\ / ä é 😀';
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { annotations: { note: text } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 200 });
  assert.equal((await testEnv.node('a')).metadata.annotations?.note, text);
  assert.equal((await testEnv.getPool('worker'))?.spec.annotations?.note, text);
  assert.equal((await testEnv.getPool('worker'))?.status?.status, 200);
});

test('a node that moves keeps what the first pool displaced', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await annotate('a', { note: 'old' });
  await testEnv.pool('one', { annotations: { note: '1', only: 'one' } });
  await testEnv.pool('two', { annotations: { note: '2' } });
  await testEnv.reconcile();
  await ok(['move', 'a', '--to', 'two', '--yes']);
  assert.deepEqual(await annotationsOf('a'), { note: '2' });
  await testEnv.delete(['one', 'two']);
  assert.deepEqual(await annotationsOf('a'), { note: 'old' });
});

test('a deleted pool is released by a process that never knew it', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gone') });
  await annotate('a', { note: 'old' });
  await testEnv.pool('gone', { annotations: { note: '1', added: '1' } });
  await testEnv.reconcile();
  await testEnv.edit('gone', { metadata: { finalizers: [] } });
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/gone');
  const { stdout } = await unchanged(['diff']);
  assert.match(
    stdout,
    /^ {2}- annotation added=1 +\(left the pool\)\n {2}~ annotation note: 1 -> old +\(left the pool, restored\)$/m,
  );
  await ok(['reconcile']);
  assert.deepEqual(await annotationsOf('a'), { note: 'old' });
});

test('the watch reads annotations of a new key before it replaces them, and restores them', async t => {
  const names = Array.from({ length: 5 }, (_, index) => `n${index}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('one') })));
  for (const name of names) await annotate(name, { late: `${name} had it`, large: LARGE });
  await testEnv.pool('one', { labels: { tier: 'one' } });
  const watching = await startWatching(t, testEnv.cluster());
  await eventually('it is reconciled', async () => (await testEnv.getPool('one'))?.status?.updatedNodeCount === 5);

  const mark = (await readAudit(testEnv.cluster())).length;
  await testEnv.edit('one', { spec: { annotations: { late: 'ours' } } });
  const all = async (value: (name: string) => string) =>
    (await Promise.all(names.map(async name => (await annotationsOf(name)).late === value(name)))).every(Boolean);
  await eventually('every node gets it', () => all(() => 'ours'));
  const patches = names.map(name => `patch ${name}`);
  await eventually('one list and one write a node', async () => {
    const requests = (await nodeRequests(mark)).filter(request => !request.startsWith('watch'));
    return String(requests.toSorted()) === String(['list', ...patches]);
  });

  await annotate('n0', { late: 'drifted' });
  await eventually('drift is repaired', () => all(() => 'ours'));
  await testEnv.edit('one', { spec: { annotations: { late: null, more: 'x' } } });
  // Of n0 somebody else set it meanwhile: what was there before is past.
  await eventually('the values are back', async () => {
    const values = await Promise.all(names.map(async name => (await annotationsOf(name)).late));
    return values.join() === [undefined, ...names.slice(1).map(name => `${name} had it`)].join();
  });
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/one');
  await eventually('the pool is released', async () => (await testEnv.getPool('one')) === undefined);
  assert.deepEqual(await annotationsOf('n1'), { late: 'n1 had it', large: LARGE });
  assert.equal(await watching.end(), 0);
});

test('a conflict between read and write loses no annotation of others', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { annotations: { note: 'ours' } });
  const { cluster } = await testEnv.connection();
  let patches = 0;
  await testEnv.reconcileWith({
    ...cluster,
    nodes: {
      ...cluster.nodes,
      async patch(name, patch, options) {
        if (patches++ === 0) await annotate('a', { note: 'theirs' });
        return cluster.nodes.patch(name, patch, options);
      },
    },
  });
  assert.deepEqual([patches, await annotationsOf('a')], [2, { note: 'ours' }]);
  await testEnv.delete(['worker']);
  assert.deepEqual(await annotationsOf('a'), { note: 'theirs' });
});

test('reports an annotation that an admission policy changes', async t => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { annotations: { note: 'ours' } });
  const expression = 'Object{metadata: Object.metadata{annotations: {"note": "policy"}}}';
  const policy = await mutatingPolicy(testEnv.cluster(), 'notes', {
    prefix: 'a',
    mutation: { patchType: 'ApplyConfiguration', applyConfiguration: { expression } },
    probe: {
      node: 'a',
      patch: { metadata: { annotations: { note: 'probe' } } },
      isChanged: ({ metadata }) => metadata.annotations?.note !== 'probe',
    },
  });
  t.after(() => policy.end());
  await testEnv.reconcile();
  assert.match(
    JSON.stringify((await testEnv.getPool('worker'))?.status?.conditions),
    /annotation note was sent with value \\"ours\\" and is \\"policy\\"/,
  );
});

test('create and edit set annotations by flags, and refuse keys of the cluster', async () => {
  await ok(['create', 'flags', '--annotation', 'note=a, {"b": "c=d-"}', '--annotation', 'empty=']);
  const annotations = async () => (await testEnv.getPool('flags'))?.spec.annotations;
  assert.deepEqual(await annotations(), { note: 'a, {"b": "c=d-"}', empty: '' });
  await ok(['edit', 'flags', '--annotation', 'note-', '--annotation', 'empty=no longer']);
  assert.deepEqual(await annotations(), { empty: 'no longer' });
  await refused(
    ['edit', 'flags', '--annotation', 'a b=x'],
    2,
    /^error: --annotation "a b=x": the name of key "a b" must consist of/,
  );
  await refused(
    ['edit', 'flags', '--annotation', 'nodes.lailin.xyz/applied=x'],
    1,
    /spec\.annotations\[nodes\.lailin\.xyz\/applied\]: the cluster or kubectl-nodepool sets this annotation/,
  );
  const stdin = poolYaml('file', '{annotations: {note: 1}}');
  await refused(['create', '-f', '-'], 1, /spec\.annotations\[note\]: expected a string, .*quote it/, { stdin });
});
