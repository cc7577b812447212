/** `view` in a terminal, against a real control plane. Screens: UPDATE_SCREENS=1 npm test -- command-view */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { createSmallCluster } from './small-cluster.ts';
import { assertScreen, openCommand, openTerminal } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ own: true });
const { cluster } = testEnv;
const { refused } = commandsOf(cluster);

test('opens a pool, a node and its events, and goes back', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  assertScreen('pools', await terminal.shows(/^>gpu .*\n[\s\S]*q quit/m));
  terminal.type('{down}');
  assertScreen('pools-conflict', await terminal.shows(/^spare: NodeConflict/m));
  terminal.type('k{enter}');
  assertScreen('nodes', await terminal.shows(/^>gpu-1 /m));
  terminal.type('j{enter}');
  assertScreen('node', await terminal.shows(/^Name: +gpu-2/m));
  terminal.type('e');
  assertScreen('events', await terminal.shows(/NodeJoined/));
  terminal.type('{esc}');
  await terminal.shows(/^Name: +gpu-2/m);
  terminal.type('{esc}');
  await terminal.shows(/^>gpu-2 /m);
  terminal.type('{esc}');
  await terminal.shows(/^>gpu .*\n/m);
});

test('filters, sorts and shows help', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('/Wor');
  assertScreen('filter', await terminal.shows(/^Pools \(1 of 3\)/m));
  terminal.type('{enter}{enter}');
  await terminal.shows(/^>worker-1 /m);
  terminal.type('S');
  await terminal.shows(/STATUS↑[\s\S]* worker-2 [\s\S]*>worker-1 /);
  terminal.type('?');
  assertScreen('help', await terminal.shows(/^Help$/m));
  terminal.resize(60, 12);
  assertScreen('help-60x12', await terminal.settled());
  terminal.type('{end}');
  await terminal.shows(/^Help \(lines \d+-(\d+) of \1\)[\s\S]*not ready/m);
  terminal.type('q');
  await terminal.shows(/^>worker-1 /m);
});

test('follows terminal resizes without breaking lines', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  const before = await terminal.shows(/^>gpu .*\n[\s\S]*q quit/m);
  const written = terminal.written().length;
  terminal.type('{ctrl-l}');
  await eventually('ctrl-l redraws the screen', () => / worker /.test(terminal.written().slice(written)));
  assert.deepEqual(withoutAges(await terminal.settled()), withoutAges(before));
  terminal.resize(60, 15);
  assertScreen('pools-60x15', await terminal.shows(/^>gpu .*\n[\s\S]*q quit/m).then(() => terminal.settled()));
  terminal.type('{enter}c');
  assertScreen('cordon-60x15', await terminal.shows(/Cordon node gpu-1\?/));
  terminal.type('n');
  terminal.resize(30, 6);
  await terminal.settled();
  terminal.type('{esc}');
  assertScreen('pools-30x6', await terminal.shows(/^>gpu /m).then(() => terminal.settled()));
  terminal.resize(80, 24);
  const after = await terminal.settled();
  assert.deepEqual(withoutAges(after), withoutAges(before));
});

test('shows changes by others without a key press', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^ worker .* 2\/3 /m);
  await testEnv.nodes({ name: 'worker-4', labels: role('worker') });
  await terminal.shows(/^ worker .* 3\/4 /m);
  await testEnv.pool('late');
  await terminal.shows(/^Pools \(4\)[\s\S]* late /m);
  const { body } = await raw(cluster()).request('DELETE', '/api/v1/nodes/worker-2');
  assert.ok(body);
  await terminal.shows(/^ worker .* 3\/3 /m);
});

test('shows describe, YAML and usage, and jumps to a node', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { columns: 100, env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('d');
  await terminal.shows(/^Pools > gpu > Describe[\s\S]*^Name: +gpu$/m);
  terminal.type('y');
  await terminal.shows(/^Pools > gpu > YAML[\s\S]*^kind: NodePool$/m);
  terminal.type('qq:wor');
  await terminal.shows(/^:wor█ {2}worker {2}worker-1 /m);
  terminal.type('ker-3{enter}');
  await terminal.shows(/^Pools > worker > Nodes \(3\)[\s\S]*^>worker-3 /m);
  terminal.type('y');
  await terminal.shows(/^Pools > worker > worker-3 > YAML[\s\S]*^kind: Node$/m);
  terminal.type('d');
  await terminal.shows(/^Pools > worker > worker-3 > Describe[\s\S]*^Name: +worker-3$/m);
  terminal.type('qw');
  await terminal.shows(/^Pools > worker > worker-3 > Why[\s\S]*^node worker-3 is in pool worker$/m);
  terminal.type('qqqt');
  await terminal.shows(/ CPU REQ +MEM REQ[\s\S]*^>worker .* 0% /m);
});

test('escapes control characters of the cluster', async t => {
  await createSmallCluster(testEnv);
  const uid = (await testEnv.getPool('gpu'))?.metadata.uid;
  await raw(cluster()).expect('POST', '/api/v1/namespaces/default/events', {
    metadata: { name: 'gpu.escape', namespace: 'default' },
    involvedObject: { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'gpu', uid },
    reason: 'Escape',
    message: 'red \u001b[31mtext\u0007 \u202eback\u001b[2J\nnext',
    lastTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    type: 'Normal',
  });
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('e/Escape{enter}');
  await terminal.shows(/red \\u001b\[31mtext\\u0007 \\u202eback/);
  terminal.type('{enter}');
  assertScreen('event-hostile', await terminal.shows(/Message: +red/));
  for (const evil of ['\u001b[31m', '\u0007', '\u202e', '\u001b[2J']) {
    assert.equal(terminal.written().includes(evil), false, JSON.stringify(evil));
  }
});

test('uses colour if the terminal supports it, and none with NO_COLOR', async t => {
  await createSmallCluster(testEnv);
  const colored = openTerminal(t, cluster(), ['view']);
  await colored.shows(/^>gpu .*\n[\s\S]*q quit/m);
  assert.match(colored.written(), /\u001b\[32m█+/);
  const plain = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await plain.shows(/^>gpu .*\n[\s\S]*q quit/m);
  assert.doesNotMatch(plain.written(), /\u001b\[[\d;]*m/);
});

test('restores the terminal after q, Ctrl-C and signals', async t => {
  await createSmallCluster(testEnv);
  const line = [...productCommand(), 'view'].map(word => JSON.stringify(word)).join(' ');
  const ends: [string, (terminal: ReturnType<typeof openCommand>) => void][] = [
    ['q', terminal => terminal.type('q')],
    ['Ctrl-C', terminal => terminal.type('{enter}c{ctrl-c}')],
    ['SIGTERM', ({ written }) => process.kill(Number(/pid=(\d+)/.exec(written())?.[1]), 'SIGTERM')],
    ['SIGINT', ({ written }) => process.kill(Number(/pid=(\d+)/.exec(written())?.[1]), 'SIGINT')],
  ];
  for (const [how, end] of ends) {
    // The shell keeps running and prints the terminal's settings.
    const script = `sh -c 'echo pid=$$; exec ${line}'; echo "code=$?"; stty -a; echo over`;
    const terminal = openCommand(t, cluster(), ['sh', '-c', script], { columns: 120, rows: 40 });
    await terminal.shows(/^>gpu /m);
    assert.equal(terminal.isAlternate(), true, how);
    end(terminal);
    const shown = await terminal.shows(/^over$/m);
    assert.equal(terminal.isAlternate(), false, how);
    assert.match(shown, /code=0/, how);
    assert.match(shown, / icanon /, how);
    assert.match(shown, / echo /, how);
    const written = terminal.written();
    assert.ok(written.lastIndexOf('\u001b[?25h') > written.lastIndexOf('\u001b[?25l'), `${how}: the cursor is hidden`);
    assert.ok(written.lastIndexOf('\u001b[?2004l') > written.lastIndexOf('\u001b[?2004h'), `${how}: pastes are marked`);
  }
});

test('reconnects when the server comes back', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { columns: 120, env: { NO_COLOR: '1' } });
  await terminal.shows(/ live$/m);
  await cluster().stopApiserver();
  const shown = await terminal.shows(/data \d+s old: /);
  assert.match(shown, /^>gpu /m);
  terminal.type('{enter}c');
  await terminal.shows(/Cordon node gpu-1\?/);
  terminal.type('y');
  await cluster().startApiserver();
  await terminal.shows(/ live$/m);
  await testEnv.nodes({ name: 'gpu-3', labels: role('gpu') });
  await terminal.shows(/^ gpu-3 /m);
});

test('reports the next step without a terminal, a pool or permission', async t => {
  const refusal = 'error: view needs a terminal; next: use `kubectl nodepool get --watch` without one';
  await refused(['view'], 2, `${refusal}\nSee 'kubectl nodepool view --help'.`);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { TERM: 'dumb' } });
  assert.equal((await terminal.exit).exitCode, 2);
  const bob = await kubeconfigFor(cluster(), 'bob');
  const barred = openTerminal(t, cluster(), ['view', '--kubeconfig', bob], { columns: 200 });
  assert.equal((await barred.exit).exitCode, 1);
  await barred.shows(/^error: user "bob" may not list nodepools/m);
  assert.doesNotMatch(barred.screen(), /Reading/);
  assert.equal(barred.isAlternate(), false);
  const empty = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await empty.shows(/^ No pools$/m);
  empty.type('{enter}jGceqq');
  assert.equal((await empty.exit).exitCode, 0);
});

function withoutAges(screen: string): string {
  return screen.replaceAll(/ +\d+s$/gm, '');
}
