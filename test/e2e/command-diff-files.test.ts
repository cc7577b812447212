/** `diff -f`: pools in files compared with the cluster. The pool after an apply: unit/commands/shared/changes/applied.test.ts. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { specChanges } from '../../src/nodepool/spec/edits.ts';
import type { NodePool, NodePoolSpec } from '../../src/nodepool/types.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { container, createPods, deletePods } from './many-pods.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused, unchanged } = commandsOf(cluster);

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pools-'));
});
after(() => rm(folder, { recursive: true }));

const head = (name: string) => `apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: ${name}\n`;
const spec = (value: object) => `spec: ${JSON.stringify(value)}\n`;
const write = async (name: string, text: string) => {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
};
/** As in the JSON of `diff -f`. */
const changesOf = (from: NodePoolSpec, to: NodePoolSpec) =>
  specChanges(from, to).map(({ path, from: was = null, to: is = null }) => ({ path, from: was, to: is }));
/** Without the folder of this run. */
const shown = (text: string) => text.replaceAll(`${folder}/`, '');

test('shows new and changed pools and the effect on their nodes, and writes nothing', async () => {
  await testEnv.nodes(
    { name: 'a', labels: role('web') },
    { name: 'b', labels: role('web') },
    { name: 'c', labels: role('db') },
  );
  const path = await write('new/web.yaml', head('web') + spec({ labels: { tier: 'gold', old: '1' } }));
  assert.equal((await kubectl(cluster(), ['apply', '-f', path])).code, 0);
  await testEnv.reconcile();
  const same = await unchanged(['diff', '-f', path]);
  assert.deepEqual(same, { code: 0, stdout: '', stderr: '' });

  await write(
    'new/web.yaml',
    `${head('web')}  labels:\n    team: a\n${spec({ labels: { tier: 'silver' }, handler: 'runc' })}`,
  );
  await write(
    'new/db.yaml',
    head('db') + spec({ annotations: { owner: 'db' }, taints: [{ key: 'db', effect: 'NoSchedule' }] }),
  );
  await write(
    'new/kustomization.yaml',
    'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n',
  );
  await write('new/karpenter.yaml', 'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\n');
  const { code, stdout, stderr } = await unchanged(['diff', '-f', join(folder, 'new')]);
  assert.equal(
    shown(stdout),
    `+ pool db (new; new/db.yaml:1)
  + spec.annotations[owner]: db
  + spec.taints[db:NoSchedule]: ""

~ pool web (new/web.yaml:1)
  + metadata.labels[team]: a
  + spec.handler: runc
  - spec.labels[old]: 1
  ~ spec.labels[tier]: gold -> silver

1 pool would be created; 1 pool would change

pool web: 2 nodes (a, b)
  ~ label tier: gold -> silver  (spec)
  - label old=1  (spec)

node c (joins pool db)
  + taint db:NoSchedule  (spec)
  + annotation owner=db  (spec)

+ RuntimeClass node-pool-web

3 nodes would change: 2 set, 2 changed, 2 removed; 1 RuntimeClass would change
`,
  );
  assert.equal(code, 1);
  assert.equal(
    shown(stderr),
    `note: new/karpenter.yaml:1: NodePool of karpenter.sh/v1 is not a NodePool and is ignored
note: new/kustomization.yaml:1: Kustomization of kustomize.config.k8s.io/v1beta1 is not a NodePool and is ignored
`,
  );

  const json = await unchanged(['diff', '-f', join(folder, 'new'), '-o', 'json']);
  const { pools, nodes } = JSON.parse(json.stdout) as { pools: Record<string, unknown>[]; nodes: { name: string }[] };
  assert.deepEqual(
    [pools.map(({ name, action }) => [name, action]), nodes.map(({ name }) => name), json.code],
    [
      [
        ['db', 'create'],
        ['web', 'change'],
      ],
      ['a', 'b', 'c'],
      1,
    ],
  );
  assert.deepEqual(pools[1]?.changes, [
    { path: 'metadata.labels[team]', from: null, to: 'a' },
    { path: 'spec.handler', from: null, to: 'runc' },
    { path: 'spec.labels[old]', from: '1', to: null },
    { path: 'spec.labels[tier]', from: 'gold', to: 'silver' },
  ]);

  // And so it is.
  assert.equal(
    (await kubectl(cluster(), ['apply', '-f', join(folder, 'new', 'web.yaml'), '-f', join(folder, 'new', 'db.yaml')]))
      .code,
    0,
  );
  const applied = await unchanged(['diff']);
  assert.ok(shown(stdout).endsWith(applied.stdout), applied.stdout);
});

test('evaluates files together: a node that leaves one pool joins the other', async () => {
  await testEnv.nodes({ name: 'a', labels: { zone: 'x' } }, { name: 'b', labels: { zone: 'y' } });
  const one = (selector: object) => head('one') + spec({ nodeSelector: selector, labels: { by: 'one' } });
  const path = await write('move/one.yaml', one({ zone: 'x' }));
  assert.equal((await kubectl(cluster(), ['apply', '-f', path])).code, 0);
  await testEnv.reconcile();
  await write('move/one.yaml', one({ zone: 'y' }));
  const two = await write('move/two.yaml', head('two') + spec({ nodeSelector: { zone: 'x' }, labels: { by: 'two' } }));
  const { code, stdout } = await unchanged(['diff', '-f', path, '-f', two]);
  assert.deepEqual(
    [code, stdout.match(/^node .*/gm)],
    [1, ['node a (moves from pool one to pool two)', 'node b (joins pool one)']],
  );
  // A new pool takes no node from another.
  const overlap = await write('overlap.yaml', head('late') + spec({ nodeSelector: { zone: 'x' }, labels: { q: 'r' } }));
  const conflict = await unchanged(['diff', '-f', overlap]);
  assert.match(
    conflict.stdout,
    /^! node a belongs to pool one but also matches pool late \(conflict\); not applied: q$/m,
  );
  assert.match(conflict.stdout, /^1 pool would be created$/m);
  assert.equal(conflict.code, 1);
});

test('a change of pool metadata changes no node, and fields not set by apply are named', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'gold', kept: '1' } });
  await testEnv.reconcile();
  const text = `${head('web')}  annotations:\n    contact: me\n${spec({ labels: { tier: 'gold' } })}`;
  const { code, stdout, stderr } = await cliHere(cluster(), ['diff', '-f', '-'], { stdin: text });
  assert.equal(
    stdout,
    '~ pool web (stdin:1)\n  + metadata.annotations[contact]: me\n\n1 pool would change\n\nNo node would change.\n',
  );
  assert.equal(
    stderr,
    'warning: stdin:1: spec.labels[kept] of pool web is not in the file and stays: no apply set it; next: add the field to the file, or remove it with `kubectl nodepool edit web`\n',
  );
  assert.equal(code, 1);
});

test('--impact shows what the files do to pods', async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web');
  await testEnv.reconcile();
  t.after(() => deletePods(cluster()));
  await createPods(cluster(), 'a', [{ name: 'shop', spec: { containers: [container('c', {})] } }]);
  const path = await write('impact.yaml', head('web') + spec({ taints: [{ key: 'x', effect: 'NoExecute' }] }));
  const { code, stdout } = await unchanged(['diff', '-f', path, '--impact']);
  assert.match(stdout, /^Impact:\n\+ taint x:NoExecute on 1 node/m);
  assert.match(stdout, /evicts Pod default\/a-shop/);
  assert.equal(code, 1);
  assert.match((await unchanged(['diff', '-f', path, '--impact', '-o', 'json'])).stdout, /"impact": \{/);
});

test('counts the evictions of all steps of a rollout', async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
  await testEnv.pool('web', { rollout: { maxConcurrent: 1 } });
  await testEnv.reconcile();
  t.after(() => deletePods(cluster()));
  for (const node of ['a', 'b'])
    await createPods(cluster(), node, [{ name: 'shop', spec: { containers: [container('c', {})] } }]);
  const rollout = { maxConcurrent: 1 };
  const path = await write('all.yaml', head('web') + spec({ taints: [{ key: 'x', effect: 'NoExecute' }], rollout }));
  const { code, stderr } = await unchanged(['diff', '-f', path]);
  assert.match(stderr, /^NoExecute taints evict 2 pods at once from 2 nodes:$/m);
  assert.equal(code, 1);
});

test('errors exit with 2 and name the file, the document and the field', async () => {
  const wrong = await write('wrong.yaml', `${head('ok')}---\n${head('web')}spec:\n  labels:\n    "a b": x\n`);
  await refused(['diff', '-f', wrong], 2, new RegExp(`^error: ${wrong}:12: spec\\.labels\\[a b\\]: .*; next: see `));
  await write('two/a.yaml', head('a') + spec({ nope: 1 }));
  await write('two/b.yaml', 'apiVersion: nodes.lailin.xyz/v1\nkind: NodePol\n');
  await refused(
    ['diff', '-f', join(folder, 'two')],
    2,
    /^error: 2 documents are not valid:\n.*two\/a\.yaml:5: spec\.nope: unknown field\n.*two\/b\.yaml:1: not a NodePool: found .*NodePol/s,
  );
  const twice = await write('twice.yaml', `${head('x')}---\n${head('x')}`);
  await refused(
    ['diff', '-f', twice],
    2,
    /twice\.yaml:6: pool x is also in .*twice\.yaml:1; next: remove one of the two$/,
  );
  await refused(['diff', '-f', join(folder, 'none.yaml')], 2, /none\.yaml: no such file/);
  await refused(
    ['diff', 'web', '-f', wrong],
    2,
    /^error: -f reads pools from files and cannot be used with names or -l/,
  );
  const other = await write('other.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n');
  const { code, stderr } = await unchanged(['diff', '-f', other]);
  assert.deepEqual([code, /contains no NodePool; next: start a NodePool with apiVersion/.test(stderr)], [2, true]);
});

test('keeps what another field manager has set, as a server-side apply does', async () => {
  const full = { labels: { a: '1', b: '2' }, taints: [{ key: 'ours', effect: 'NoSchedule' }], handler: 'runc' };
  const team = {
    labels: { x: 'team' },
    annotations: { note: 'team' },
    taints: [{ key: 'team', effect: 'NoSchedule' }],
  };
  const rows: { name: string; theirs: object; by: string; next: object }[] = [
    { name: 'apart', theirs: team, by: 'team', next: { labels: { a: '1' } } },
    { name: 'nothing', theirs: team, by: 'team', next: { labels: { a: '2' }, taints: full.taints } },
    {
      name: 'shared',
      theirs: { ...team, labels: { ...team.labels, b: '2' } },
      by: 'team',
      next: { labels: { a: '1' } },
    },
    { name: 'taints', theirs: team, by: 'team', next: { taints: full.taints } },
    { name: 'alone', theirs: {}, by: 'team', next: { labels: { a: '1' } } },
  ];
  const apply = (path: string, manager: string, ...args: string[]) =>
    kubectl(cluster(), ['apply', '--server-side', `--field-manager=${manager}`, '-f', path, '-o', 'json', ...args]);
  for (const { name, theirs, by, next } of rows) {
    const path = await write(`owners/${name}.yaml`, head(name) + spec(full));
    assert.equal((await apply(path, 'argocd-controller')).code, 0);
    assert.equal((await apply(await write(`owners/${name}-team.yaml`, head(name) + spec(theirs)), by)).code, 0);
    await write(`owners/${name}.yaml`, head(name) + spec(next));
    const before = (await testEnv.getPool(name))?.spec;
    const { stdout } = await apply(path, 'argocd-controller', '--dry-run=server');
    const { pools } = JSON.parse((await unchanged(['diff', '-f', path, '-o', 'json'])).stdout) as {
      pools: { changes: object[] }[];
    };
    const after = (JSON.parse(stdout) as NodePool).spec;
    assert.deepEqual(
      pools.flatMap(({ changes }) => changes),
      changesOf(before ?? {}, after),
      name,
    );
  }
});

test('keeps what a create has also set, as a server-side apply does', async () => {
  const path = await write('created.yaml', head('created') + spec({ labels: { a: '1', b: '2' } }));
  assert.equal((await kubectl(cluster(), ['create', '-f', path])).code, 0);
  const apply = (...args: string[]) =>
    kubectl(cluster(), ['apply', '--server-side', '--field-manager=flux', '-f', path, '-o', 'json', ...args]);
  assert.equal((await apply()).code, 0);
  await write('created.yaml', head('created') + spec({ labels: { a: '1' } }));
  const { stdout } = await apply('--dry-run=server');
  assert.deepEqual((JSON.parse(stdout) as NodePool).spec.labels, { a: '1', b: '2' });
  assert.equal((await unchanged(['diff', '-f', path])).code, 0);
});
