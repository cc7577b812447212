/** `describe` and `events`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { labelNode } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused } = commandsOf(cluster);

/** Replaces times and ages, and keeps spaces. */
const still = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
    .replace(/\b(\d+s|<1s|now)\b/g, '9s')
    .replace(/[ \t]+$/gm, '');

const NOTE = 'the GPU driver is old';

/** Creates an event of core/v1 from a minute ago, as older controllers write them. */
async function foreignEvent(pool: string, uid: string | undefined): Promise<void> {
  const time = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${pool}.foreign`, namespace: 'default' },
    involvedObject: { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: pool, uid },
    type: 'Warning',
    reason: 'DriverTooOld',
    message: NOTE,
    source: { component: 'gpu-watch' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 3,
  };
  const { code, stderr } = await kubectl(cluster(), ['create', '-f', '-'], { stdin: JSON.stringify(event) });
  assert.equal(code, 0, stderr);
}

async function labelPool(name: string, label: string): Promise<void> {
  const { code, stderr } = await kubectl(cluster(), ['label', 'nodepool.nodes.lailin.xyz', name, label]);
  assert.equal(code, 0, stderr);
}

test('describe shows spec, members, resources, RuntimeClass, conditions and events', async () => {
  await testEnv.nodes(
    { name: 'a', labels: role('gpu') },
    { name: 'b', labels: role('gpu'), ready: false },
    { name: 'c', labels: role('gpu') },
    { name: 'd', labels: { ...role('gpu'), ...role('old') } },
  );
  await testEnv.pool('old', {});
  await testEnv.reconcile();
  const taints = [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' as const }];
  const pool = await testEnv.pool('gpu', { labels: { tier: 'gold' }, taints, handler: 'nvidia' }, { younger: true });
  await testEnv.reconcile();
  await labelNode(cluster(), 'c', { 'node-role.kubernetes.io/gpu': null });
  await labelNode(cluster(), 'a', { tier: 'brass' });
  await foreignEvent('gpu', pool.metadata.uid);

  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'describe', 'gpu']);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const text = still(stdout);
  const parts = [
    `Name:         gpu
Labels:       <none>
Annotations:  <none>
Created:      TIME (9s ago)
Status:       Conflict (code 409)
Spec:
  Labels:         tier=gold
  Taints:         dedicated=gpu:NoSchedule
  Handler:        nvidia
  Node Selector:  node-role.kubernetes.io/gpu= (default)
  Unmanaged:      Keep
`,
    // Of the two members.
    '  memory             6129040Ki    (5.8Gi)\n',
    'Nodes:  2, 1 ready, 1 with changes due, 1 to be cleaned, 1 owned by another pool\n',
    `  Name  Status    CPU  Memory  Pods  State          Age
  ----  ------    ---  ------  ----  -----          ---
  a     Ready     4    2.9Gi   110   1 change due   9s
  b     NotReady  4    2.9Gi   110   in sync        9s
  c     Ready     4    2.9Gi   110   to be cleaned  9s
  d     Ready     4    2.9Gi   110   owned by old   9s
`,
    `RuntimeClass:
  Name:           node-pool-gpu
  Handler:        nvidia
  State:          in sync
  Node Selector:  node-role.kubernetes.io/gpu=
                  tier=gold
  Tolerations:    dedicated=gpu:NoSchedule
`,
    'Conflict  True    NodeConflict',
    'DriverTooOld',
    NOTE,
  ];
  for (const part of parts) assert.ok(text.includes(part), `${part}\nis not in\n${text}`);
});

test('describe shows all pools, including unreconciled ones, and reports missing names', async () => {
  await refused(['describe'], 0, 'No pools found.');
  await testEnv.pool('one');
  await testEnv.pool('two', { handler: 'runc' });
  const blocks = (await ok(['describe'])).split('\n\n');
  assert.deepEqual(
    blocks.map(block => /^Name: +(\S+)/.exec(block)?.[1]),
    ['one', 'two'],
  );
  assert.match(blocks[1] ?? '', /^Status: +Pending \(not reconciled yet\)$/m);
  assert.match(blocks[1] ?? '', /^RuntimeClass: +<none> \(the next reconcile creates it\)$/m);
  const { code, stdout, stderr } = await cliHere(cluster(), ['describe', 'one', 'nope']);
  assert.equal(stderr, 'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`\n');
  assert.match(stdout, /^Name: +one$/m);
  assert.equal(code, 1);
});

test('describe shows what the user may read, and names everything else', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu', { handler: 'runc' });
  await testEnv.reconcile();
  const kubeconfig = await userWith(cluster(), 'describer', [
    { apiGroups: ['nodes.lailin.xyz', ''], resources: ['nodepools', 'nodes'], verbs: ['list'] },
  ]);
  const { code, stdout, stderr } = await cliHere(cluster(), ['describe', 'gpu', '--kubeconfig', kubeconfig]);
  assert.deepEqual([code, stderr], [0, '']);
  const forbidden = (plural: string, group: string) =>
    `<forbidden: user "describer" may not list ${plural}; ask for a role with verb list on ${plural}.${group}>`;
  assert.deepEqual(stdout.match(/^(RuntimeClass|Events): .*$/gm), [
    `RuntimeClass:  ${forbidden('runtimeclasses', 'node.k8s.io')}`,
    `Events:  ${forbidden('events', 'events.k8s.io')}`,
  ]);
  assert.match(stdout, /^Nodes: {2}1, 1 ready$/m);
});

test('describe does not find a deleted pool whose record is still on a node', async () => {
  await testEnv.nodes({ name: 'a' });
  await testEnv.patchNode('a', { metadata: { annotations: { 'nodes.lailin.xyz/applied': '{"pool":"ghost"}' } } });
  await refused(
    ['describe', 'ghost'],
    1,
    'error: nodepool "ghost" not found; next: list the pools with `kubectl nodepool get`',
  );
});

test('events lists events of one pool or all, from any controller, oldest first', async () => {
  await refused(['events'], 0, 'No events found.');
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  const pool = await testEnv.pool('gpu');
  await testEnv.pool('other', { handler: 'runc' });
  await testEnv.reconcile();
  await foreignEvent('gpu', pool.metadata.uid);
  const all = still((await kubectl(cluster(), ['nodepool', 'events'])).stdout)
    .trimEnd()
    .split('\n');
  const table = all.map(line => line.split(/ {3,}/));
  assert.deepEqual(table[0], ['TIME', 'TYPE', 'WHAT', 'WHO', 'POOL', 'DETAIL']);
  const rows = table.slice(1).map(([, ...cells]) => cells.join(' | '));
  assert.deepEqual(rows.toSorted(), [
    'Normal | NodeJoined | kubectl-nodepool | gpu | 1 node joined: a',
    'Normal | RuntimeClassCreated | kubectl-nodepool | other | RuntimeClass node-pool-other created',
    `Warning | DriverTooOld | gpu-watch | gpu | ${NOTE}`,
  ]);
  assert.match(rows[0] ?? '', /DriverTooOld/);
  const one = await ok(['events', 'other', '--no-headers']);
  assert.deepEqual(one.trimEnd().split('\n').length, 1);
  assert.match(one, /RuntimeClassCreated/);
  assert.equal((await ok(['events', 'other', 'gpu', '--no-headers'])).trimEnd().split('\n').length, 3);
  await labelPool('other', 'team=a');
  // An age of 10 s makes the column wider than one of 9 s.
  const cells = (text: string) => still(text).replace(/ +/g, ' ');
  assert.equal(cells(await ok(['events', '-l', 'team=a', '--no-headers'])), cells(one));
  await refused(['events', '-l', 'team=b'], 0, 'No pools found.');
  await refused(['describe', '-l', 'team=b'], 0, 'No pools found.');
  const described = await cliHere(cluster(), ['describe', '-l', 'team=a']);
  assert.match(described.stdout, /^Name: +other$/m);
  assert.match(described.stderr, /^warning: no node matches pool other /);
  await testEnv.pool('quiet');
  await refused(['events', 'quiet'], 0, 'No events found for pool quiet.');
  const missing = 'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`';
  for (const args of [
    ['events', 'nope'],
    ['events', 'other', 'nope'],
    ['events', '--for=nope', '-w'],
  ]) {
    await refused(args, 1, missing);
  }
  // The events of a deleted pool stay for a while.
  await ok(['delete', 'other', '--yes']);
  assert.match(await ok(['events', 'other']), /RuntimeClassCreated/);
});

test('events -o json and yaml print the objects that kubectl prints', async () => {
  await testEnv.pool('gpu', { handler: 'runc' });
  await testEnv.pool('other');
  await testEnv.reconcile();
  for (const format of ['json', 'yaml']) {
    const theirs = ['get', 'events.v1.events.k8s.io', '-n', 'default', '-o', format];
    const { stdout } = await kubectl(cluster(), [...theirs, '--field-selector', 'regarding.kind=NodePool']);
    assert.match(stdout, /RuntimeClassCreated/);
    assert.equal(await ok(['events', '-o', format]), stdout);
    assert.equal(await ok(['events', '--for', 'nodepool/gpu', '-o', format]), stdout);
  }
  const { items } = JSON.parse(await ok(['events', 'other', '-o', 'json'])) as { items: object[] };
  assert.deepEqual(items, []);
  await refused(['events', 'gpu', '--for', 'gpu'], 2, /^error: a name and --for cannot be used together; /);
});

test('events escapes control characters in notes', async () => {
  const pool = await testEnv.pool('gpu');
  const body = {
    metadata: { name: 'gpu.escape', namespace: 'default' },
    involvedObject: { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'gpu', uid: pool.metadata.uid },
    reason: 'Escape',
    message: 'red \u001b[31mtext\u0007 \u202eback\nnext',
    lastTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    type: 'Normal',
  };
  const made = await kubectl(cluster(), ['create', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'Event', ...body }),
  });
  assert.equal(made.code, 0, made.stderr);
  for (const args of [['events'], ['describe', 'gpu']]) {
    const { stdout } = await cliHere(cluster(), args);
    assert.match(stdout, /red .*text.*back/);
    for (const char of ['\u001b', '\u0007', '\u202e']) assert.equal(stdout.includes(char), false, args.join(' '));
  }
});
