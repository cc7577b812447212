/**
 * Hostile text in every field that the server accepts: no command lets it move the cursor, colour the terminal, forge a
 * line, hide text, or break JSON and YAML, on a terminal or in a pipe.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { commands } from '../../src/commands/index.ts';
import { cliHere } from '../cluster/harness.ts';
import { inTerminal, NO_TERMINAL } from './commands.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { COLUMNS, check, checkColored, EVIL, isData, LOOKS, MEGABYTE, seed, TEXTS } from './hostile.ts';
import { refuseWith } from './hostile-webhook.ts';
import { startMetricsServer } from './metrics-server.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const pods = poolsWithPods(testEnv);

const nameOf = (args: string[]) => JSON.stringify(args.join(' ').slice(0, 60));

/** The last word of __complete is the one under the cursor. */
const withFlags = (args: string[], ...flags: string[]) => (args[0] === '__complete' ? args : [...args, ...flags]);

test('covers every command except view, which command-view.test.ts covers', () => {
  const missing = Object.keys(commands).filter(command => !LOOKS.some(([first]) => first === command));
  assert.deepEqual(missing, ['view']);
});

test('every command escapes foreign text in a pipe with colours', async () => {
  await seed(testEnv, pods);
  let shown = '';
  for (const args of LOOKS) {
    const what = nameOf(args);
    const { stdout, stderr } = await cliHere(cluster(), withFlags(args, '--color=always'));
    assert.doesNotMatch(stderr, /this is a bug/, what);
    checkColored(stdout, `${what}, stdout`, { bounded: !isData(args) });
    checkColored(stderr, `${what}, stderr`, { bounded: !isData(args) });
    shown += stdout + stderr;
  }
  // The text was in the output.
  assert.ok(shown.includes('\\u001b[35m') && shown.includes('\\u202e') && shown.includes('\\u200b'));
});

test('every command escapes foreign text on a terminal', { skip: NO_TERMINAL }, async () => {
  await seed(testEnv, pods);
  // -v turns off the spinner, which moves the cursor itself.
  const quiet = (args: string[]) => withFlags(args, '-v', '1');
  for (const args of [...LOOKS, ...COLUMNS.map(output => ['get', '-o', output])]) {
    const { stdout, stderr } = await cliHere(cluster(), quiet(args), { isTerminal: true });
    check(stdout + stderr, `${nameOf(args)} on a terminal`, { bounded: !isData(args) });
  }
  for (const args of [['get'], ['describe'], ['events'], ['get', EVIL]]) {
    const { shown } = await inTerminal(cluster(), quiet(args), '');
    check(shown, `${nameOf(args)} on a real terminal`);
  }
  for (const output of TEXTS) {
    const { shown } = await inTerminal(cluster(), ['get', '-o', output], '');
    assert.match(shown, /a\\u001b\[35mb/, output);
    check(shown.replace(/[\n\t]/g, ''), `${output} on a terminal`, { bounded: false });
  }
});

test('JSON and YAML keep exact values as escapes', async () => {
  await seed(testEnv, pods);
  const live = await testEnv.getPool('gpu');
  for (const [format, parse] of [
    ['json', JSON.parse],
    ['yaml', load],
  ] as const) {
    const { stdout, stderr, code } = await cliHere(cluster(), ['get', 'gpu', '-o', format]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    check(stdout, format, { bounded: false });
    const read = parse(stdout) as NonNullable<typeof live>;
    assert.deepEqual(read.metadata.annotations, live?.metadata.annotations);
    assert.deepEqual(read.status, live?.status);
  }
  const { stdout } = await cliHere(cluster(), ['get', 'gpu', '-o', 'jsonpath-as-json={.metadata.annotations.evil}']);
  assert.deepEqual(JSON.parse(stdout), [EVIL]);
});

test('prints the refusal of a webhook in one line', async () => {
  await testEnv.nodes(
    { name: 'locked', labels: role('gpu') },
    { name: 'locked-free', labels: { 'example.com/group': 'locked-group' } },
    { name: 'open', labels: role('soft') },
  );
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.pool('soft');
  await pods.pod({ name: 'locked-pod', node: 'open' });
  const end = await refuseWith(cluster(), MEGABYTE, 'locked');
  try {
    for (const args of [
      ['create', 'locked-pool'],
      ['reconcile'],
      ['describe', 'gpu'],
      ['events'],
      ['reconcile', 'gpu', '-v', '8'],
      ['add', 'gpu', 'locked-free'],
      ['remove', 'gpu', 'locked'],
      ['move', 'locked', '--to', 'soft'],
      ['cordon', 'gpu'],
      ['drain', 'gpu', '--yes'],
      ['drain', 'soft', '--yes', NOW, '--timeout=2s'],
      ['adopt', '--label', 'example.com/group', '--create', '--yes'],
    ]) {
      const { code, stdout, stderr } = await cliHere(cluster(), args);
      const bounded = !args.includes('-v');
      check(stdout, args.join(' '), { bounded });
      check(stderr, args.join(' '), { bounded });
      const [command = ''] = args;
      if (command === 'create') assert.match(stderr, /^error: [^\n]*\\u001b\[35m[^\n]*… \(cut\)[^\n]*\n$/);
      if (command === 'reconcile') assert.match(stderr, /\\n {2}next: forged/);
      if (/^(add|remove|move|cordon|drain|adopt)$/.test(command)) {
        assert.equal(code, 1, args.join(' '));
        assert.match(stdout + stderr, /a\\u001b\[35mb/, args.join(' '));
      }
    }
  } finally {
    await end();
  }
});

test('escapes names of the kubeconfig', async () => {
  const file = join(cluster().dir, 'evil.config');
  const config = {
    clusters: [{ name: EVIL, cluster: { server: EVIL } }],
    users: [{ name: EVIL, user: { token: EVIL } }],
    contexts: [
      { name: EVIL, context: { cluster: EVIL, user: EVIL } },
      { name: 'other', context: { cluster: 'none', user: EVIL } },
    ],
    'current-context': EVIL,
  };
  await writeFile(file, JSON.stringify(config));
  for (const args of [['get'], ['get', '--context', 'x'], ['get', '--context', 'other'], ['get', '--user', 'x']]) {
    const { code, stdout, stderr } = await cliHere(cluster(), [...args, '--kubeconfig', file]);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    check(stderr, args.join(' '));
    assert.equal(stderr.split('\n').length, 2, stderr);
  }
  const { stdout } = await cliHere(cluster(), ['__complete', 'get', '--kubeconfig', file, '--context', '']);
  assert.equal(stdout, 'other\n:4\n');
  const doctor = await cliHere(cluster(), ['doctor', '--kubeconfig', file]);
  check(doctor.stdout, 'doctor');
  check(doctor.stderr, 'doctor, stderr');
  assert.match(doctor.stdout + doctor.stderr, /a\\u001b\[35mb/);
});

test('escapes the values of a metrics server', async t => {
  await testEnv.nodes({ name: 'node-a', labels: role('gpu') });
  await testEnv.pool('gpu');
  const usage = { 'node-a': { cpu: EVIL, memory: '1Mi' }, [EVIL]: { cpu: '1' } };
  const metrics = await startMetricsServer(cluster(), usage);
  t.after(() => metrics.stop());
  for (const args of [['top'], ['top', '--nodes'], ['top', '--nodes', '-o', 'json'], ['top', '-o', 'csv']]) {
    const { code, stdout, stderr } = await cliHere(cluster(), args);
    assert.equal(code, 0, stderr);
    check(stdout, args.join(' '));
    check(stderr, args.join(' '));
  }
});
