/** Nodes that somebody had cordoned before a maintenance or a drain, and how an uncordon treats them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { annotationOf, as, stateOf, writeMaintenance } from './maintenance.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { unchanged } = commandsOf(cluster);
const alice = as('alice');
const bob = as('bob');
const states = async () => Promise.all(['a', 'b'].map(name => stateOf(testEnv, name)));

/** Somebody has cordoned `a` because of a broken disk. */
async function pool(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
  await testEnv.pool('web');
  assert.equal((await kubectl(cluster(), ['cordon', 'a'])).code, 0);
}

async function run(...args: string[]) {
  const { code, stdout, stderr } = await cliHere(cluster(), args);
  return { code, stdout, stderr };
}

test('uncordon keeps a node cordoned that was cordoned before its maintenance', async () => {
  await pool();
  const drain = ['drain', 'web', '--reason=disks', ...alice];
  assert.equal((await run(...drain)).code, 0);
  // An interrupted drain is run again, and somebody else goes on.
  assert.equal((await run(...drain)).code, 0);
  assert.equal((await run('cordon', 'web', '--takeover', ...bob)).code, 0);
  const before = ['a', 'b'].map(async name => 'wasUnschedulable' in (annotationOf(await testEnv.node(name)) ?? {}));
  assert.deepEqual(await Promise.all(before), [true, false]);
  const ended = await run('uncordon', 'web', ...bob);
  assert.deepEqual(ended, {
    code: 0,
    stdout: 'node/a stays cordoned, as before its maintenance\nnode/b uncordoned\n',
    stderr:
      'warning: 1 node was cordoned before the maintenance; next: to make it schedulable, run `kubectl nodepool uncordon web --node a` (scripts need --yes)\n',
  });
  assert.deepEqual(await states(), ['cordoned', 'schedulable']);
  assert.equal(annotationOf(await testEnv.node('a')), undefined);
});

test('an uncordon without maintenance names foreign cordons, and requires --yes in a script', async () => {
  await pool();
  assert.equal((await run('drain', 'web')).code, 0);
  const { code, stderr } = await unchanged(['uncordon', 'web']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: 1 node was cordoned by others: a \(kubectl, 20\S+Z\); nothing was changed; next: to continue, run the command again with --yes\n$/,
  );
  const dry = await unchanged(['uncordon', 'web', '--dry-run=server']);
  assert.match(dry.stderr, /^warning: 1 node was cordoned by others: a \(kubectl, /);
  const named = await run('uncordon', 'web', '--node=b');
  assert.deepEqual([named.code, named.stdout, named.stderr], [0, 'node/b uncordoned\n', '']);
  const all = await run('uncordon', 'web', '--yes');
  assert.deepEqual([all.code, all.stdout], [0, 'node/a uncordoned\nnode/b already uncordoned\n']);
  assert.match(all.stderr, /^warning: 1 node was cordoned by others: a \(kubectl, /);
});

test('uncordons nodes that this program cordoned without asking', async () => {
  await pool();
  assert.equal((await kubectl(cluster(), ['uncordon', 'a'])).code, 0);
  assert.equal((await run('cordon', 'web')).code, 0);
  assert.deepEqual(await run('uncordon', 'web'), {
    code: 0,
    stdout: 'node/a uncordoned\nnode/b uncordoned\n',
    stderr: '',
  });
});

test('asks about a node whose maintenance annotation is older than its cordon', async () => {
  await pool();
  await writeMaintenance(testEnv, 'a', { owner: 'alice' });
  assert.equal((await run('cordon', 'web', '--node=b', '--reason=disks', ...alice)).code, 0);
  await kubectl(cluster(), ['uncordon', 'b']);
  await kubectl(cluster(), ['cordon', 'b']);
  const { code, stderr } = await unchanged(['uncordon', 'web', ...alice]);
  assert.equal(code, 1);
  assert.match(stderr, /^error: 2 nodes were cordoned by others: a \(kubectl, \S+\), b \(kubectl, /);
  assert.equal((await run('uncordon', 'web', '--yes', ...alice)).code, 0);
  assert.deepEqual(await states(), ['schedulable', 'schedulable']);
});
