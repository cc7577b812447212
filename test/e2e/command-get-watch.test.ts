/** `get -w` with names, selectors and each output format, compared with kubectl. Its plain table: command-watch.test.ts. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { cli, cliHere, kubectl } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { type Following, start } from './following.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused } = commandsOf(cluster);

const follow = (t: TestContext, ...args: string[]) => start(t, cluster(), [...productCommand(), 'get', ...args]);
const label = (name: string, labels: object) => testEnv.edit(name, { metadata: { labels } });
/** How many objects or rows it has printed; of YAML events the last line of each counts. */
const printed = ({ lines }: Following) => lines().filter(line => !/^(object:|---| )/.test(line)).length;
const remove = (name: string) => raw(cluster()).expect('DELETE', `/apis/nodes.lailin.xyz/v1/nodepools/${name}`);

test('prints templates, selectors and watch events byte for byte as kubectl does', async t => {
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'a' } } });
  await testEnv.pool('other');
  const { kubectl } = await ensureBinaries(['kubectl']);
  const line = 'jsonpath={.metadata.name} {.metadata.labels.team} {.metadata.managedFields[0].manager}{"\\n"}';
  const event = 'jsonpath={.type} {.object.metadata.name}{"\\n"}';
  /** Flags, and the number of objects and headers at first and at the end. */
  const shapes: [string[], number, number][] = [
    [['-w', '-o', line], 2, 6],
    [['-w', '-o', 'custom-columns=NAME:.metadata.name,TEAM:.metadata.labels.team'], 3, 7],
    [['-w', '-o', 'custom-columns=A:.type,N:.object.metadata.name', '--output-watch-events'], 3, 7],
    [['-w', '-o', 'name', '--output-watch-events'], 2, 6],
    [['-w', '-o', 'json', '--output-watch-events'], 2, 6],
    [['-w', '-o', 'yaml', '--output-watch-events'], 2, 6],
    [['--watch-only', '-o', event, '--output-watch-events'], 0, 4],
    [['-w', '-o', event, '--output-watch-events', '-l', 'team=a'], 1, 4],
    [['-w', '-o', line, '--field-selector', 'metadata.name=other'], 1, 2],
  ];
  const pairs: { shape: string; first: number; last: number; ours: Following; theirs: Following }[] = [];
  // One pair after another: started at once they would exceed the timeout.
  for (const [args, first, last] of shapes) {
    const [shape, ours] = [args.join(' '), follow(t, ...args)];
    const theirs = start(t, cluster(), [kubectl, 'get', 'nodepools', ...args]);
    await eventually(`both begin: ${shape}`, () => printed(ours) >= first && printed(theirs) >= first);
    pairs.push({ shape, first, last, ours, theirs });
  }
  // A watch that prints nothing at first does not show when it has started.
  const quiet = pairs.filter(({ first }) => first === 0);
  for (let more = 0; quiet.some(({ ours, theirs }) => ours.stdout() === '' || theirs.stdout() === ''); more++) {
    assert.ok(more < 60, 'a watch did not begin');
    await label('gpu', { more: String(more) });
    await new Promise(resolve => setTimeout(resolve, 500));
  }
  await label('gpu', { team: null });
  await label('gpu', { team: 'a' });
  await remove('other');
  await remove('gpu');
  for (const { shape, last, ours, theirs } of pairs) {
    await eventually(`kubectl prints every change: ${shape}`, () => printed(theirs) >= last);
    await eventually(`so does the plugin: ${shape}`, () => printed(ours) >= last);
  }
  for (const { shape, ours, theirs } of pairs) {
    // Watches that print nothing at first may have started one change apart.
    const end = ({ lines }: Following) => (shape.startsWith('--watch-only') ? lines().slice(-4) : lines()).join('\n');
    await eventually('', () => end(ours) === end(theirs)).catch(() => {});
    assert.equal(end(ours), end(theirs), shape);
  }
});

test('shows watch events in the table', async t => {
  await testEnv.pool('gpu');
  const table = follow(t, '-w', '--output-watch-events');
  await table.has(2);
  await label('gpu', { x: 'y' });
  await table.has(3);
  await remove('gpu');
  await table.has(4);
  assert.deepEqual(
    table.lines().map(line => line.split(/ +/, 2).join(' ')),
    ['EVENT NAME', 'ADDED gpu', 'MODIFIED gpu', 'DELETED gpu'],
  );
});

test('counts the matching nodes of a pool that was never reconciled, until it is edited', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') });
  await testEnv.pool('gpu');
  const nodes = (line = '') => line.split(/ +/)[2];
  const { stdout } = await cliHere(cluster(), ['get', '--no-headers']);
  const watching = follow(t, '-w', '--no-headers');
  await watching.has(1);
  assert.deepEqual([nodes(stdout), nodes(watching.lines()[0])], ['2', '2']);
  await label('gpu', { x: 'y' });
  await testEnv.edit('gpu', { spec: { nodeSelector: { a: 'b' } } });
  await watching.has(4);
  assert.deepEqual(watching.lines().slice(1).map(nodes), ['2', '<none>', '0']);
});

test('prints a pool again when its nodes change, without a controller', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') });
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.pool('other');
  await testEnv.reconcile();
  const watching = follow(t, '-w');
  await watching.has(3);
  const header = watching.lines()[0]?.split(/ +/) ?? [];
  const row = () => {
    const cells = watching.lines().at(-1)?.split(/ +/) ?? [];
    return Object.fromEntries(header.map((name, at) => [name, cells[at]]));
  };
  const shows = (wanted: Record<string, string>) =>
    eventually(JSON.stringify(wanted), () => Object.entries(wanted).every(([name, text]) => row()[name] === text));
  await kubectl(cluster(), ['cordon', 'a']);
  await shows({ NAME: 'gpu', NODES: '2', CORDONED: '1', DRIFT: '0' });
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'silver' } } });
  await shows({ NAME: 'gpu', STATUS: 'Drifted', CORDONED: '1', DUE: '1', DRIFT: '1' });
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/a');
  await shows({ NAME: 'gpu', NODES: '1', CORDONED: '0', DRIFT: '0' });
  const seen = watching.lines().length;
  await testEnv.patchNode('b', { metadata: { annotations: { heartbeat: '1' } } });
  await new Promise(resolve => setTimeout(resolve, 2_500));
  assert.equal(watching.lines().length, seen, 'a change that no row shows prints none');
});

test('a label change on a pool does not show outdated numbers of its status', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  await kubectl(cluster(), ['cordon', 'a']);
  const cordoned = (line = '') => line.split(/ +/)[4];
  const watching = follow(t, '-w', '--no-headers');
  await watching.has(1);
  await label('gpu', { x: 'y' });
  await watching.has(2);
  assert.deepEqual(watching.lines().map(cordoned), ['1', '1']);
});

test('--sort-by sorts the first list only, and warns about it', async t => {
  await testEnv.pool('a', {}, { metadata: { labels: { order: '2' } } });
  await testEnv.pool('b', {}, { metadata: { labels: { order: '1' } } });
  const watching = follow(t, '-w', '-o', 'name', '--sort-by', '.metadata.labels.order');
  await watching.has(2);
  assert.deepEqual(
    watching.lines().map(line => line.split('/')[1]),
    ['b', 'a'],
  );
  assert.equal(watching.stderr(), 'warning: --sort-by sorts the first list only, not the changes that follow\n');
  assert.equal(await watching.end(), 130, 'so that Ctrl-C ends the loop of a shell');
});

test('a template that fails on a pool ends the watch with an error', async () => {
  await testEnv.pool('a', { taints: [] });
  const { code, stdout, stderr } = await cli(cluster(), ['get', '-w', '-o', 'jsonpath={.spec.taints[0]}']);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^error: -o jsonpath: array index out of bounds: index 0, length 0; next: correct the template\n$/,
  );
});

test('prints YAML and JSON byte for byte as kubectl does', async t => {
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'a' } } });
  await testEnv.pool('other');
  const { kubectl } = await ensureBinaries(['kubectl']);
  const shapes = [
    ['-o', 'yaml'],
    ['-o', 'json'],
    ['gpu', '-o', 'yaml'],
    ['-l', 'team=a', '-o', 'json'],
  ];
  const pairs = shapes.map(shape => ({
    shape: shape.join(' '),
    ours: follow(t, '-w', ...shape),
    theirs: start(t, cluster(), [kubectl, 'get', 'nodepools', '-w', ...shape]),
  }));
  for (const { ours, theirs } of pairs) await Promise.all([ours.has(1), theirs.has(1)]);
  await label('gpu', { x: 'y' });
  // It stops matching -l, and matches again.
  await label('gpu', { team: null });
  await label('gpu', { team: 'a' });
  await remove('other');
  await remove('gpu');
  for (const { shape, ours, theirs } of pairs) {
    const count = shape.startsWith('-o') ? 7 : 5;
    const objects = (text: string) => text.match(/kind"?: "?NodePool|^nodepool/gm)?.length;
    await eventually(`kubectl prints every change: ${shape}`, () => objects(theirs.stdout()) === count);
    await eventually(`so does the plugin: ${shape}`, () => ours.stdout().length >= theirs.stdout().length);
    assert.equal(ours.stdout(), theirs.stdout(), shape);
  }
});

test('shows the named pools only, in the given order', async t => {
  for (const name of ['a', 'b', 'c']) await testEnv.pool(name);
  const watching = follow(t, 'c', 'a', '-w', '--no-headers');
  await watching.has(2);
  for (const name of ['b', 'a', 'c']) await label(name, { x: 'y' });
  await watching.has(4);
  assert.deepEqual(
    watching.lines().map(line => line[0]),
    ['c', 'a', 'a', 'c'],
  );
  const missing = 'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`';
  await refused(['get', '-w', 'nope'], 1, missing);
  const { code, stdout } = await cli(cluster(), ['get', '-w', 'nope', 'a', '-o', 'name']);
  assert.deepEqual([code, stdout], [1, 'nodepool.nodes.lailin.xyz/a\n']);
});

test('--request-timeout ends a watch as in kubectl', async () => {
  await testEnv.pool('gpu');
  for (const args of [['get', '-o', 'name'], ['nodes'], ['events']]) {
    const { code, stderr } = await cli(cluster(), [...args, '--watch', '--request-timeout=1s'], { timeoutMs: 20_000 });
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  }
});

test('a watch that kubectl prints ends together with this process', async t => {
  await testEnv.pool('gpu');
  const { kubectl } = await ensureBinaries(['kubectl']);
  const pid = join(cluster().dir, 'kubectl.pid');
  const folder = join(cluster().dir, 'path');
  await mkdir(folder);
  await writeFile(join(folder, 'kubectl'), `#!/bin/sh\necho $$ > ${pid}\nexec ${kubectl} "$@"\n`, { mode: 0o755 });
  const template = ['-w', '-o', 'go-template={{.metadata.name}}{{"\\n"}}'];
  const path = `PATH=${folder}${delimiter}${process.env.PATH}`;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const ours = start(t, cluster(), ['env', path, ...productCommand(), 'get', ...template]);
    const plain = follow(t, '-w', '-o', 'jsonpath={.metadata.name}{"\\n"}');
    await Promise.all([ours.has(1), plain.has(1)]);
    assert.equal(await ours.end(signal), await plain.end(signal), signal);
    assert.deepEqual([ours.stdout(), ours.stderr()], [plain.stdout(), plain.stderr()], signal);
    const child = Number(await readFile(pid, 'utf8'));
    assert.throws(() => process.kill(child, 0), { code: 'ESRCH' });
  }
});
