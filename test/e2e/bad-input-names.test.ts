/** Names that would address something else: the collection, a parent path or a subresource. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import manifest from '../../oclif.manifest.json' with { type: 'json' };
import { cliHere } from '../cluster/harness.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

const NAMES = ['.', '..', 'worker/status', 'x/../worker', 'worker%2Fstatus'];
const COMMANDS: [before: string[], after: string[]][] = [
  [['get'], []],
  [['get'], ['-o', 'yaml']],
  [['edit'], ['--label', 'new=label']],
  [['delete'], ['--yes']],
  [['delete'], ['--dry-run=server']],
  [['wait'], ['--for', 'nodes=1', '--timeout', '1s']],
  [['describe'], []],
  [['reconcile'], []],
  [['nodes', '--why'], []],
  [['create', 'other', '--nodes'], []],
];

test('every command refuses invalid names in one line and writes nothing', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const before = [await testEnv.getPool('worker'), await testEnv.node('a')];
  for (const [command, flags] of COMMANDS) {
    await Promise.all(
      NAMES.map(async name => {
        const { code, stdout, stderr } = await cliHere(cluster(), [...command, name, ...flags]);
        const what = `${command.join(' ')} ${name}: ${stderr}`;
        assert.ok(code === 1 || code === 2, what);
        assert.equal(stdout, '', what);
        assert.match(stderr, /^error: [^\n]*(is not a valid|not found)[^\n]*\n$/, what);
      }),
    );
  }
  assert.deepEqual([await testEnv.getPool('worker'), await testEnv.node('a')], before);
  assert.equal(await testEnv.getPool('other'), undefined);
});

test('refuses an empty name, as from an unset variable, instead of selecting all', async () => {
  await testEnv.pool('worker');
  for (const words of [
    ['get'],
    ['delete', '--yes'],
    ['reconcile'],
    ['events'],
    ['drain'],
    ['nodes', '--why'],
    ['edit'],
  ]) {
    const { code, stdout, stderr } = await cliHere(cluster(), [...words, '']);
    assert.deepEqual([code, stdout], [2, ''], words.join(' '));
    assert.match(stderr, /^error: .*a name cannot be empty; next: check for an unset shell variable\nSee /);
  }
  assert.notEqual(await testEnv.getPool('worker'), undefined);
});

test('every command with a selector refuses an empty one, and suggests --all if available', async () => {
  await testEnv.pool('worker');
  const required: Record<string, string[]> = {
    move: ['--to', 'worker'],
    add: ['worker'],
    remove: ['worker'],
    rollout: ['pause'],
    wait: ['--for=delete'],
  };
  const commands = Object.entries(manifest.commands).filter(([, { flags }]) => 'selector' in flags);
  assert.ok(commands.length > 12, String(commands.length));
  for (const [command, { flags }] of commands) {
    for (const selector of ['', ' ']) {
      const words = [command, ...(required[command] ?? []), '-l', selector];
      const { code, stdout, stderr } = await cliHere(cluster(), words);
      assert.deepEqual([code, stdout], [2, ''], words.join(' '));
      const all = 'all' in flags ? '; to select all pools, use --all' : ', or leave out -l';
      const next = `check for an unset shell variable${all}`;
      assert.equal(stderr.split('\n')[0], `error: -l: the selector is empty; next: ${next}`, words.join(' '));
    }
  }
  assert.equal((await testEnv.getPool('worker'))?.spec.paused, undefined);
});
