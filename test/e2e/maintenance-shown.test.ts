/** Maintenances in get, nodes, describe, view and doctor; text of others is escaped there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { doctorOf } from './doctoring.ts';
import { as, writeMaintenance } from './maintenance.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const doctor = doctorOf(cluster);

/** a is alice's, b is bob's and overdue, c is stale, d is cordoned, e is in no pool and unreadable. */
async function mixed(): Promise<void> {
  await testEnv.nodes(
    ...['a', 'b', 'c'].map(name => ({ name, labels: role('web') })),
    { name: 'd', labels: role('web'), unschedulable: true },
    { name: 'e' },
  );
  await testEnv.pool('web');
  await testEnv.reconcile();
  await cliHere(cluster(), [
    'cordon',
    'web',
    '--node=a,b,c',
    '--reason=new disks',
    '--until=2099-01-01T00:00:00Z',
    ...as('alice'),
  ]);
  await kubectl(cluster(), ['uncordon', 'c']);
  await writeMaintenance(testEnv, 'b', { until: '2026-01-02T00:00:00Z' });
  await testEnv.patchNode('e', { metadata: { annotations: { 'nodes.lailin.xyz/maintenance': 'mine' } } });
}

test('nodes has the column while a node is under maintenance, and -o wide always', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web');
  assert.doesNotMatch(await ok(['nodes']), /MAINTENANCE/);
  assert.match(await ok(['nodes', '-o', 'wide']), /MAINTENANCE/);
  await testEnv.clean();
  await mixed();
  const rows = (await cliHere(cluster(), ['nodes'])).stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split(/ +/));
  const shown = rows.map(row => `${row[0]} ${row.at(-1)}`);
  assert.deepEqual(
    shown.map(line => line.replace(/\(\d+y\d*d?-left\)/, '(LEFT)').replace(/overdue-\w+/, 'LATE')),
    ['NAME MAINTENANCE', 'a alice(LEFT):new_disks', 'b bob(LATE)', 'c stale:alice', 'd <none>'],
  );
  const { items } = JSON.parse(await ok(['nodes', '-o', 'json'])) as { items: { maintenance: unknown }[] };
  const [a, b, c, d] = items.map(({ maintenance }) => maintenance as Record<string, unknown> | null);
  assert.deepEqual(
    [a?.state, a?.owner, a?.ownerFrom, a?.reason, a?.until],
    [...['Active', 'alice', 'server', 'new disks', '2099-01-01T00:00:00Z']],
  );
  assert.deepEqual([b?.state, b?.reason, c?.state, d], ['Overdue', null, 'Stale', null]);
  const unassigned = await ok(['nodes', '--unassigned', '-o', `jsonpath={.items[*].maintenance.state}`]);
  assert.equal(unassigned, 'Unreadable');
});

test('get -o wide counts maintenance without another request, and names overdue pools', async () => {
  await mixed();
  const { stdout, stderr } = await cliHere(cluster(), ['get', '-o', 'wide']);
  const [header = [], row = []] = stdout.split('\n').map(line => line.split(/ +/));
  assert.equal(row[header.indexOf('MAINTENANCE')], '2,1-overdue');
  assert.equal(stderr, 'Maintenance is overdue in pool web (1 node). See `kubectl nodepool doctor`.\n');
  assert.equal((await cliHere(cluster(), ['get'])).stderr, '');
});

test('describe counts and lists maintenance, overdue ones first', async () => {
  await mixed();
  const text = await ok(['describe', 'web']);
  assert.match(text, /^Nodes: {2}4, 4 ready, 3 unschedulable, 2 under maintenance \(1 overdue\)$/m);
  const lines = text.split('\n');
  const at = lines.indexOf('Maintenance:');
  assert.match(
    lines[at + 3] ?? '',
    /^ {2}b +bob since 2026-01-01T00:00:00Z, until 2026-01-02T00:00:00Z \(overdue for \w+\)$/,
  );
  assert.match(lines[at + 4] ?? '', /^ {2}a +alice since \S+, until 2099-01-01T00:00:00Z \(\w+ left\): new disks$/);
  assert.match(lines[at + 5] ?? '', /^ {2}c +alice since .*: new disks \(stale: the node is schedulable\)$/);
});

test('doctor warns of overdue, then stale maintenance, with the commands to end it', async () => {
  await mixed();
  const { status, message, details } = (await doctor()).find('maintenance');
  assert.deepEqual(
    [status, message],
    ['warning', 'maintenance is overdue on 1 node; 2 nodes have a leftover maintenance annotation'],
  );
  const [overdue = '', stale = '', unreadable = '', active = ''] = details;
  assert.equal(
    overdue,
    'web: 1 node: b: bob since 2026-01-01T00:00:00Z, until 2026-01-02T00:00:00Z (overdue); `kubectl nodepool uncordon web --node b --takeover`',
  );
  assert.match(
    stale,
    /^web: 1 node: c: stale, made schedulable by others afterwards: alice since \S+; `kubectl nodepool uncordon web --node c`$/,
  );
  assert.equal(
    unreadable,
    '1 node: e: the annotation nodes.lailin.xyz/maintenance cannot be read; `kubectl annotate node e nodes.lailin.xyz/maintenance-`',
  );
  assert.match(active, /^web: 1 node: a: alice since .*: new disks$/);
  // The commands do what they say.
  await cliHere(cluster(), ['uncordon', 'web', '--node', 'b', '--takeover']);
  await cliHere(cluster(), ['uncordon', 'web', '--node', 'c']);
  await kubectl(cluster(), ['annotate', 'node', 'e', 'nodes.lailin.xyz/maintenance-']);
  const after = (await doctor()).find('maintenance');
  assert.deepEqual([after.status, after.message], ['ok', '1 node is under maintenance']);
});

test('foreign text neither colours nor forges lines', async () => {
  await mixed();
  const hostile = 'x\u001b[31m\r\nerror: forged\u202e';
  await writeMaintenance(testEnv, 'a', { owner: hostile, reason: hostile });
  for (const args of [
    ['nodes'],
    ['nodes', '-o', 'wide'],
    ['describe', 'web'],
    ['doctor', '--all'],
    ['uncordon', 'web'],
  ]) {
    const { stdout, stderr } = await unchanged([
      ...args,
      '--color=never',
      ...(args[0] === 'uncordon' ? ['--node=a'] : []),
    ]);
    const all = stdout + stderr;
    assert.match(all, /forged/, args.join(' '));
    for (const text of ['\u001b', '\r', '\u202e', '\nerror: forged'])
      assert.equal(all.includes(text), false, args.join(' '));
  }
});
