/** Nodes under maintenance: who may cordon, drain and uncordon them, and what is written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { cli, cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { annotationOf, as, stateOf, writeMaintenance } from './maintenance.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const pods = poolsWithPods(testEnv);
const alice = as('alice');
const bob = as('bob');
const state = (name: string) => stateOf(testEnv, name);

async function pool(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
  await testEnv.pool('web');
}

/** Runs a command that succeeds; its stderr is ignored. */
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cliHere(cluster(), args);
  assert.equal(code, 0, stderr);
  return stdout;
}

test('cordon writes owner, reason and end in one patch, and uncordon removes them', async () => {
  await pool();
  const start = (await readAudit(cluster())).length;
  const args = ['cordon', 'web', '--reason', 'kernel upgrade', '--until', '2h', ...alice];
  const { code, stdout, stderr } = await cliHere(cluster(), args);
  assert.deepEqual([code, stdout], [0, 'node/a cordoned\nnode/b cordoned\n']);
  assert.match(stderr, /^Maintenance by alice until 20\S+Z \(120m left\): kernel upgrade\n$/);
  const asked = (await readAudit(cluster())).slice(start).filter(isWrite);
  assert.deepEqual(asked.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`).toSorted(), [
    'create selfsubjectreviews ',
    'patch nodes a',
    'patch nodes b',
  ]);
  const node = await testEnv.node('a');
  const { uid, since = '', until = '', ...rest } = annotationOf(node) ?? {};
  assert.deepEqual(rest, { owner: 'alice', reason: 'kernel upgrade' });
  assert.equal(uid, (node.metadata as { uid?: string }).uid);
  assert.equal(node.spec.unschedulable, true);
  const took = Date.parse(until) - Date.parse(since);
  assert.ok(took >= 7_170_000 && took <= 7_201_000, `${since} ${until}`);

  assert.equal(await done('uncordon', 'web', ...alice), 'node/a uncordoned\nnode/b uncordoned\n');
  assert.deepEqual([await state('a'), await state('b')], ['schedulable', 'schedulable']);
});

test('without the flags, sends no question and writes no annotation', async () => {
  await pool();
  const start = (await readAudit(cluster())).length;
  await ok(['cordon', 'web']);
  await ok(['cordon', 'web', '--takeover']);
  await ok(['uncordon', 'web', ...bob]);
  const asked = (await readAudit(cluster())).slice(start).map(({ resource }) => resource);
  assert.equal(asked.includes('selfsubjectreviews'), false);
  assert.equal(annotationOf(await testEnv.node('a')), undefined);
});

test('refuses a second person by name, and does not write that node', async () => {
  await pool();
  await done('cordon', 'web', '--node=a', '--reason=disks', '--until=2099-01-01T00:00:00Z', ...alice);
  const { since } = annotationOf(await testEnv.node('a')) ?? {};
  const why = `the node is under maintenance by alice since ${since}, until 2099-01-01T00:00:00Z: disks; next: ask alice, or use --takeover`;
  for (const [command, ...flags] of [['cordon'], ['cordon', '--reason=mine'], ['uncordon']] as const) {
    for (const more of [[], ['--dry-run=client'], ['--dry-run=server']]) {
      const { code, stderr } = await unchanged([command, 'web', '--node=a', ...flags, ...more, ...bob]);
      assert.equal(code, 1);
      assert.equal(stderr.split('\n').at(-2), `error: unable to ${command} node "a": ${why}`);
    }
  }
  // The other nodes of the pool are written all the same.
  const { code, stdout } = await cliHere(cluster(), ['cordon', 'web', ...bob]);
  assert.deepEqual(
    [code, stdout, await state('a'), await state('b')],
    [1, 'node/b cordoned\n', 'cordoned alice disks', 'cordoned'],
  );
  const drained = await cliHere(cluster(), ['drain', 'web', '--yes', ...bob]);
  assert.equal(drained.code, 1);
  assert.match(
    drained.stderr,
    /^warning: node a is under maintenance by alice since .*: disks; not drained; next: ask alice/m,
  );
  assert.match(drained.stderr, /^Draining 1 node of pool web, /m);
  assert.match(drained.stderr, /^error: unable to cordon node "a": the node is under maintenance by alice/m);
  const none = await cliHere(cluster(), ['drain', 'web', '--node=a', '--reason=mine', '--yes', ...bob]);
  assert.deepEqual([none.code, none.stderr.match(/^(Draining|Maintenance) .*/m)], [1, null]);
  assert.match(
    drained.stderr,
    /^error: nodepool "web" not drained: 1 of 2 nodes left to drain; next: ask the owner of the maintenance, or use --takeover$/m,
  );
  assert.equal(drained.stdout.includes('node/a drained'), false);
  assert.ok(drained.stdout.includes('node/b drained'));
  assert.equal(await state('a'), 'cordoned alice disks');
});

test('the preview of a drain does not count pods of nodes that it skips', async () => {
  await pool();
  for (const [name, node] of [
    ['p', 'a'],
    ['q', 'b'],
  ] as const)
    await pods.pod({ name, node, labels: { app: name } });
  await pods.budget('theirs', { app: 'p' }, 0);
  await done('cordon', 'web', '--node=a', '--reason=disks', ...alice);
  const { stderr } = await unchanged(['drain', 'web', '--dry-run', ...bob]);
  assert.match(stderr, /^warning: node a is under maintenance by alice since .*: disks; not drained/m);
  assert.doesNotMatch(stderr, /PodDisruptionBudget default\/theirs/);
});

test('--takeover replaces the owner, and ends the maintenance with uncordon', async () => {
  await pool();
  await done('cordon', 'web', '--reason=disks', '--until=2099-01-01T00:00:00Z', ...alice);
  const taken = await done('cordon', 'web', '--node=a', '--takeover', ...bob);
  assert.equal(taken, 'node/a already cordoned; maintenance taken over from alice\n');
  const { owner, reason, until } = annotationOf(await testEnv.node('a')) ?? {};
  assert.deepEqual([owner, reason, until], ['bob', 'disks', '2099-01-01T00:00:00Z']);
  const drained = await done('drain', 'web', '--node=a', '--takeover', '--reason=mine', '--yes', ...alice);
  assert.match(drained, /^node\/a already cordoned; maintenance taken over from bob\nnode\/a drained\n/);
  assert.equal(await state('a'), 'cordoned alice mine');
  const ended = await done('uncordon', 'web', '--takeover', ...bob);
  assert.match(
    ended,
    /^node\/a uncordoned; maintenance by alice ended\nnode\/b uncordoned; maintenance by alice ended\n$/,
  );
  assert.deepEqual([await state('a'), await state('b')], ['schedulable', 'schedulable']);
});

test('the owner can change reason and end, and keeps what is not given', async () => {
  await pool();
  await done('cordon', 'web', '--node=a', '--reason=disks', '--until=2099-01-01T00:00:00Z', ...alice);
  const first = annotationOf(await testEnv.node('a'));
  assert.equal(await ok(['cordon', 'web', '--node=a', ...alice]), 'node/a already cordoned\n');
  const again = ['cordon', 'web', '--node=a', '--reason=disks', ...alice];
  assert.equal(await done(...again), 'node/a already cordoned\n');
  assert.equal(
    await done('cordon', 'web', '--node=a', '--until=2098-01-01T00:00:00Z', ...alice),
    'node/a already cordoned; maintenance updated\n',
  );
  assert.deepEqual(annotationOf(await testEnv.node('a')), { ...first, until: '2098-01-01T00:00:00Z' });
  // An end alone is a maintenance, too; and so is one of a node that somebody has cordoned.
  await kubectl(cluster(), ['cordon', 'b']);
  assert.equal(
    await done('cordon', 'web', '--node=b', '--until=3d', ...bob),
    'node/b already cordoned; maintenance started\n',
  );
  assert.equal(await state('b'), 'cordoned bob');
});

test('refuses an invalid reason and a time in the past before any request', async () => {
  await pool();
  const cases: [string, RegExp][] = [
    ['--reason=', /^error: --reason must be one line of 1 to 256 characters; /],
    ['--reason=a\nb', /^error: --reason must be one line /],
    [`--reason=${'x'.repeat(257)}`, /^error: --reason must be one line /],
    ['--until=2020-01-01T00:00:00Z', /^error: --until: 2020-01-01T00:00:00Z is in the past; next: write it like 2h, /],
    ['--until=0s', /^error: --until: 0s is in the past; /],
    ['--until=soon', /^error: --until: "soon" is not a time; /],
    ['--until=2099-02-30T00:00:00Z', /^error: --until: "2099-02-30T00:00:00Z" is not a time; /],
  ];
  for (const [flag, message] of cases)
    for (const command of ['cordon', 'drain']) {
      const { code, stderr } = await unchanged([command, 'web', flag]);
      assert.deepEqual([code, message.test(stderr)], [2, true], `${command} ${flag}: ${stderr}`);
    }
  assert.equal((await unchanged(['uncordon', 'web', '--reason=x'])).code, 2);
});

test('interprets a time of day as local', async () => {
  await pool();
  const [noon, date] = ['12:00', '2099-06-01T12:00'];
  const until = async (text: string, TZ: string) => {
    const { code } = await cli(cluster(), ['cordon', 'web', '--node=a', `--until=${text}`, ...alice], { env: { TZ } });
    assert.equal(code, 0);
    return annotationOf(await testEnv.node('a'))?.until;
  };
  assert.match((await until(noon, 'Asia/Tokyo')) ?? '', /T03:00:00Z$/);
  assert.match((await until(noon, 'America/New_York')) ?? '', /T1[67]:00:00Z$/);
  assert.equal(await until(date, 'Asia/Tokyo'), '2099-06-01T03:00:00Z');
  assert.equal(await until(`${date}:30+02:00`, 'Asia/Tokyo'), '2099-06-01T10:00:30Z');
});

test('ignores the annotation of a node that others uncordoned, and does not restore it', async () => {
  await pool();
  await done('cordon', 'web', '--reason=disks', ...alice);
  await kubectl(cluster(), ['uncordon', 'a', 'b']);
  assert.equal(await state('a'), 'schedulable alice disks');
  assert.equal(
    await ok(['cordon', 'web', '--node=a', ...bob]),
    'node/a cordoned; stale maintenance by alice removed\n',
  );
  assert.equal(await state('a'), 'cordoned');
  assert.equal(
    await ok(['uncordon', 'web', '--node=b', ...bob]),
    'node/b already uncordoned; stale maintenance by alice removed\n',
  );
  assert.equal(annotationOf(await testEnv.node('b')), undefined);
});

test('ignores the annotation of an earlier node, and malformed ones', async () => {
  await pool();
  await writeMaintenance(testEnv, 'a', { uid: 'earlier' });
  await testEnv.patchNode('a', { spec: { unschedulable: true } });
  assert.equal(
    await done('uncordon', 'web', '--node=a', '--yes', ...alice),
    'node/a uncordoned; stale maintenance by bob removed\n',
  );
  const garbage = [
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{"owner":7}',
    `{"owner":"bob","since":"now","uid":"x"}`,
    'x'.repeat(200_000),
  ];
  for (const value of garbage) {
    const patch = {
      metadata: { annotations: { 'nodes.lailin.xyz/maintenance': value } },
      spec: { unschedulable: true },
    };
    await testEnv.patchNode('a', patch);
    assert.equal(await ok(['cordon', 'web', '--node=a', ...alice]), 'node/a already cordoned\n');
    const said = await done('uncordon', 'web', '--node=a', '--yes', ...alice);
    assert.equal(said, 'node/a uncordoned; unreadable maintenance removed\n', value.slice(0, 50));
  }
  await testEnv.patchNode('a', { metadata: { annotations: { 'nodes.lailin.xyz/maintenance': '{' } } });
  await done('cordon', 'web', '--node=a', '--reason=mine', ...alice);
  assert.equal(await state('a'), 'cordoned alice mine');
});

test('a pool with unmanaged: Remove neither removes the annotation nor reports drift', async () => {
  await pool();
  await testEnv.edit('web', { spec: { unmanaged: 'Remove', annotations: { note: 'x' } } });
  await testEnv.reconcile();
  await done('cordon', 'web', '--reason=disks', ...alice);
  const [summary] = await testEnv.reconcile();
  assert.equal(summary?.outcome?.status?.updatedNodeCount, 2);
  assert.equal((await cliHere(cluster(), ['diff', 'web'])).code, 0);
  assert.equal(await state('a'), 'cordoned alice disks');
  await testEnv.delete(['web']);
  assert.equal(await state('a'), 'cordoned alice disks');
});
