/** `adopt` on a real API server: annotations by their writers, and pools that select by expressions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);

async function run(args: string[], stdin?: string): Promise<void> {
  const { code, stderr } = await kubectl(cluster(), args, stdin === undefined ? {} : { stdin });
  assert.equal(code, 0, stderr);
}
/** As the field manager of that name does. */
const write = (manager: string, node: string, annotations: Record<string, string>) =>
  raw(cluster()).expect('PATCH', `/api/v1/nodes/${node}?fieldManager=${manager}`, { metadata: { annotations } });

const OWNED = { 'example.com/owner': 'team a, b', note: '' };
const spec = async (...args: string[]) => JSON.parse(await ok(['adopt', 'worker', '-o', 'json', ...args])).spec;
async function annotationsOf(node: string) {
  const { 'nodes.lailin.xyz/applied': _, ...others } = (await testEnv.node(node)).metadata.annotations ?? {};
  return others;
}

/** Two nodes of a group with annotations of people and of programs. */
async function group(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('worker') }, { name: 'b', labels: role('worker') });
  await run(['annotate', 'node', 'a', 'b', 'example.com/owner=team a, b', 'rack=1', 'csi.volume.kubernetes.io/x=1']);
  await run(['annotate', 'node', 'b', '--overwrite', 'rack=2', 'mixed=1']);
  for (const name of ['a', 'b']) {
    await run(['patch', 'node', name, '-p', '{"metadata":{"annotations":{"note":""}}}']);
    await write('agent', name, { 'agent.example.com/state': 'ok' });
    const file = (annotations: object) =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name, annotations } });
    await run(['apply', '-f', '-'], file({ 'by-file': '1' }));
    await run(['apply', '--server-side', '-f', '-'], file({ 'by-server': '1' }));
  }
  await write('agent', 'a', { mixed: '1' });
}

test('proposes annotations that people set on all nodes, and changes no node', async () => {
  await group();
  const { stdout } = await unchanged(['adopt']);
  assert.match(stdout, / TAINTS +ANNOTATIONS\nworker +new +2 .* <none> +<none> +example.com\/owner,\+1\n$/);
  assert.deepEqual((await spec()).annotations, OWNED);
  const before = await Promise.all(['a', 'b'].map(annotationsOf));
  await ok(['adopt', 'worker', '--create']);
  assert.deepEqual((await testEnv.getPool('worker'))?.spec.annotations, OWNED);
  const { code, stdout: diff } = await cliHere(cluster(), ['diff']);
  assert.deepEqual([code, diff], [0, '']);
  await ok(['reconcile']);
  assert.deepEqual(await Promise.all(['a', 'b'].map(annotationsOf)), before);
  assert.equal(await ok(['diff']), '');
  assert.match(await ok(['adopt']), /^worker +adopted .* example.com\/owner,\+1\n/m);
  await ok(['delete', 'worker']);
  assert.deepEqual(await Promise.all(['a', 'b'].map(annotationsOf)), before);

  // What a deleted pool has restored belongs to nobody that is known.
  await testEnv.pool('all', { nodeSelector: role('worker'), annotations: { 'agent.example.com/state': 'pool' } });
  await ok(['reconcile']);
  await ok(['delete', 'all']);
  assert.equal((await annotationsOf('a'))['agent.example.com/state'], 'ok');
  assert.deepEqual((await spec()).annotations, OWNED);

  // From the first write of a program on any node, an annotation is left out.
  await testEnv.nodes({ name: 'other' });
  await write('agent', 'other', { note: 'x' });
  assert.deepEqual((await spec()).annotations, { 'example.com/owner': 'team a, b' });
  // The same value: the server leaves the field to its first writer.
  await write('agent', 'a', { 'example.com/owner': 'team a, b' });
  assert.deepEqual((await spec()).annotations, { 'example.com/owner': 'team a, b' });
  await write('agent', 'a', { 'example.com/owner': 'agent' });
  await write('agent', 'a', { 'example.com/owner': 'team a, b' });
  assert.equal((await spec()).annotations, undefined);
});

test('finds a pool that selects by expressions through its nodes', async () => {
  await testEnv.nodes(
    { name: 'a', labels: { team: 'x', size: '8' } },
    { name: 'b', labels: { team: 'x', size: '8' } },
    { name: 'c', labels: { team: 'y', size: '8' } },
    { name: 'd', labels: { team: 'z', size: '2' } },
  );
  const states = async () =>
    (await ok(['adopt', '--label', 'team'])).split('\n').map(line => line.split(/ +/).slice(0, 2).join(' '));
  const inX = { key: 'team', operator: 'In' as const, values: ['x'] };
  await testEnv.pool('mine', { matchExpressions: [inX] });
  assert.deepEqual(await states(), ['POOL STATE', 'mine adopted', 'y new', 'z new', '']);
  await testEnv.reconcile();
  // The label by which RuntimeClasses select its nodes is not one of the group.
  const { items } = JSON.parse(await ok(['adopt', '--label', 'team', '-o', 'json', 'y', 'z']));
  assert.deepEqual(
    items.map((pool: { spec: object }) => pool.spec),
    [
      { labels: { size: '8' }, nodeSelector: { team: 'y' } },
      { labels: { size: '2' }, nodeSelector: { team: 'z' } },
    ],
  );
  await testEnv.edit('mine', { spec: { matchExpressions: [{ key: 'size', operator: 'Gt', values: ['4'] }] } });
  assert.deepEqual(await states(), ['POOL STATE', 'x overlaps:mine', 'y overlaps:mine', 'z new', '']);
  const skipped = await unchanged(['adopt', '--label', 'team', 'x', '--create']);
  assert.match(skipped.stderr, /^error: x shares nodes with pool mine, which exists; /);
});
