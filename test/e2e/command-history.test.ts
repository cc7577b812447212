/** `history`: what the server still knows of the past of pools and nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { refused, unchanged } = commandsOf(cluster);
const LIMITS = /^Not shown: expired Events/;

interface Item {
  time: string | null;
  what: string;
  who: string | null;
  detail: string;
  sources: string[];
  pool?: string;
  node?: string;
  count?: number;
  isWarning: boolean;
}

async function historyOf(...args: string[]): Promise<Item[]> {
  const { code, stdout, stderr } = await unchanged(['history', ...args, '-o', 'json']);
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout).items;
}

const whats = (items: Item[]) => items.map(({ what }) => what);

async function ofKubectl(...args: string[]): Promise<void> {
  const { code, stderr } = await kubectl(cluster(), args);
  assert.equal(code, 0, stderr);
}

async function product(...args: string[]): Promise<void> {
  const { code, stderr } = await cliHere(cluster(), args);
  assert.equal(code, 0, stderr);
}

/** Two nodes of pool gpu, which kubectl created. */
async function gpu(spec: object = {}): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') }, { name: 'c' });
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, taints: [{ key: 'k', effect: 'NoSchedule' }], ...spec });
  await product('reconcile');
}

async function dropEvents(): Promise<void> {
  await raw(cluster()).expect('DELETE', '/apis/events.k8s.io/v1/namespaces/default/events');
}

test('shows creation, joins, drift by kubectl label, foreign cordons and leaves of a pool', async () => {
  await gpu();
  await ofKubectl('label', 'node', 'a', 'tier=brass', '--overwrite');
  await ofKubectl('cordon', 'b');
  const items = await historyOf('gpu');
  const found = (what: string) => items.filter(item => item.what === what);
  assert.equal(found('PoolCreated')[0]?.who, 'test-cluster');
  assert.match(found('PoolCreated')[0]?.detail ?? '', /^last wrote spec\.labels\[tier\], spec\.taints$/);
  assert.deepEqual(
    found('NodeJoined').map(({ who, detail, sources }) => [who, detail, sources]),
    [['kubectl-nodepool', '2 nodes joined: a, b', ['Event', 'managedFields']]],
  );
  assert.match(found('NodeRegistered')[0]?.detail ?? '', /^2 nodes registered: a, b$/);
  assert.deepEqual(
    found('Drift').map(({ who, detail, node }) => [who, detail, node]),
    [['kubectl-label', 'label tier is "brass"; pool gpu had set "gold"', 'a']],
  );
  assert.match(found('Drift')[0]?.time ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.deepEqual(
    found('Cordoned').map(({ who, node }) => [who, node]),
    [['kubectl', 'b']],
  );
  assert.equal(found('PoolReady').length, 1);
  const times = items.map(({ time }) => Math.floor(Date.parse(time ?? '') / 1000));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );

  await product('remove', 'gpu', 'a');
  const after = await historyOf('gpu');
  assert.match(after.find(({ what }) => what === 'NodeLeft')?.detail ?? '', /^1 node left: a$/);
  assert.equal(after.filter(({ what }) => what === 'Drift').length, 0);
});

test('shows maintenance that was taken over or ended, for the node and the pool', async () => {
  await gpu();
  const as = (user: string, ...args: string[]) => product(...args, '--as', user, '--as-group', 'system:masters');
  await as('alice', 'cordon', 'gpu', '--node', 'a', '--reason', 'new kernel');
  await as('bob', 'cordon', 'gpu', '--node', 'a', '--takeover');
  await as('bob', 'uncordon', 'gpu');
  for (const subject of ['gpu', 'a']) {
    const all = await historyOf(subject);
    const ended = all.filter(({ what }) => what === 'MaintenanceEnded');
    assert.deepEqual(
      ended.map(({ detail }) => detail),
      ['bob took over the maintenance by alice: new kernel', 'bob ended the maintenance by bob: new kernel'],
    );
    assert.deepEqual(
      // Both may have begun in the same second.
      all
        .filter(({ what }) => what === 'Maintenance')
        .map(({ who, detail }) => `${who}: ${detail}`)
        .toSorted(),
      ['alice: cordoned by alice: new kernel', 'bob: cordoned by bob: new kernel'],
    );
    assert.deepEqual([...new Set(ended.map(({ who, node }) => `${who} ${node}`))], ['kubectl-nodepool a']);
  }
  const eve = await userWith(cluster(), 'eve', [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['*'], verbs: ['*'] },
    { apiGroups: [''], resources: ['nodes', 'nodes/status'], verbs: ['get', 'list', 'patch'] },
  ]);
  await product('cordon', 'gpu', '--node', 'a', '--reason', 'x', '--kubeconfig', eve);
  const { code, stderr } = await cliHere(cluster(), ['uncordon', 'gpu', '--node', 'a', '--kubeconfig', eve]);
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^warning: no Event records the end of the maintenance, so history does not show it: user "eve" may not create/m,
  );
});

test('shows who added a node to a pool, who changed pool settings, and what is unknown', async () => {
  await gpu();
  await ofKubectl('label', 'node', 'c', 'node-role.kubernetes.io/gpu=');
  await ofKubectl('taint', 'node', 'c', 'theirs:NoSchedule');
  await product('reconcile');
  await ofKubectl('taint', 'node', 'c', 'k:NoSchedule-');
  await ofKubectl('label', 'node', 'c', 'tier-');
  const items = await historyOf('c');
  const found = (what: string) => items.filter(item => item.what === what);
  assert.deepEqual(
    found('MembershipLabel').map(({ who, detail }) => [who, detail]),
    [['kubectl-label', 'label node-role.kubernetes.io/gpu=, a membership label of pool gpu']],
  );
  assert.deepEqual(
    found('NodeJoined').map(({ detail, pool, node, sources }) => [detail, pool, node, sources]),
    [['1 node joined: c', 'gpu', 'c', ['Event', 'managedFields']]],
  );
  assert.deepEqual(
    found('Drift').map(({ time, who, detail }) => [time === null, who, detail]),
    [
      [
        false,
        'kubectl-taint',
        'taint k:NoSchedule is gone; pool gpu had set ""; last writer of the taints: kubectl-taint',
      ],
      [true, null, 'label tier is gone; pool gpu had set "gold"'],
    ],
  );
  assert.equal(items.at(-1)?.time, null, 'what has no time comes last');
  assert.equal(found('NodeReady').length, 1);
  assert.equal(found('NodeRegistered')[0]?.node, 'c');
});

test('shows maintenance instead of its cordon, and a foreign cordon beside stale maintenance', async () => {
  await gpu();
  await product('cordon', 'gpu', '--node', 'a', '--reason', 'kernel upgrade', '--until', '2h');
  const maintained = async (...name: string[]) =>
    (await historyOf(...name))
      .filter(({ what }) => /^(Cordoned|Maintenance)$/.test(what))
      .map(({ what, who, node, sources }) => [what, who, node, sources]);
  const [one, ...more] = await maintained('gpu');
  assert.deepEqual([one?.[0], one?.[2], one?.[3]], ['Maintenance', 'a', ['object', 'managedFields']]);
  assert.deepEqual(more, []);
  assert.deepEqual(await maintained('a'), [one]);
  const [entry] = (await historyOf('a')).filter(({ what }) => what === 'Maintenance');
  assert.match(entry?.detail ?? '', /^cordoned by .* until \d{4}-.*: kernel upgrade$/);
  await ofKubectl('uncordon', 'a');
  assert.match(
    (await historyOf('a')).find(({ what }) => what === 'Maintenance')?.detail ?? '',
    /stale: .*schedulable\)$/,
  );
});

test('shows Events about a node, and each transition only once', async () => {
  await gpu();
  const { status } = (await raw(cluster()).expect('GET', '/api/v1/nodes/a')) as {
    status: { conditions: { type: string; lastTransitionTime: string }[] };
  };
  const at = status.conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
  const event = (name: string, reason: string, type = 'Normal') =>
    raw(cluster()).expect('POST', '/api/v1/namespaces/default/events', {
      metadata: { name, namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'a', uid: 'a' },
      ...{ type, reason, message: `Node a status is now: ${reason}`, source: { component: 'kubelet', host: 'a' } },
      ...{ firstTimestamp: at, lastTimestamp: at, count: 3 },
    });
  await event('a.1', 'NodeReady');
  await event('a.2', 'Rebooted', 'Warning');
  const items = await historyOf('a');
  assert.deepEqual(
    items.filter(({ what }) => what === 'NodeReady').map(({ who, sources, count }) => [who, sources, count]),
    [['kubelet', ['Event', 'condition'], 3]],
  );
  assert.equal(items.find(({ what }) => what === 'Rebooted')?.isWarning, true);
  assert.deepEqual(
    (await historyOf('b')).filter(({ what }) => what === 'Rebooted'),
    [],
  );
});

test('shows revisions as spec changes with their cause, and an undo', async () => {
  await gpu({ rollout: {} });
  await ofKubectl('annotate', 'npool', 'gpu', 'kubernetes.io/change-cause=more shine');
  await product('edit', 'gpu', '--label', 'tier=silver');
  await product('reconcile');
  await new Promise(resolve => setTimeout(resolve, 1_100));
  await product('rollout', 'undo', 'gpu');
  await product('reconcile', '--yes');
  const items = await historyOf('gpu');
  assert.deepEqual(
    items
      .filter(({ what }) => /^Spec(Changed|Restored)$/.test(what))
      .map(({ what, who, detail }) => [what, who, detail]),
    [
      ['SpecChanged', 'kubectl-nodepool', 'saved the spec that was restored later as revision 3'],
      [
        'SpecChanged',
        'kubectl-nodepool',
        'revision 2: the earliest spec that `rollout undo` can restore; cause: more shine',
      ],
      ['SpecRestored', 'kubectl-nodepool', 'revision 3: ~ spec.labels[tier]: silver -> gold'],
    ],
  );
  assert.ok(items.some(({ what, who }) => what === 'SpecWritten' && who === 'kubectl-nodepool'));
});

test('without Events, shows what the objects still contain', async () => {
  await gpu();
  await ofKubectl('label', 'node', 'a', 'tier=brass', '--overwrite');
  await dropEvents();
  const pool = await historyOf('gpu');
  assert.ok(!pool.some(({ sources }) => sources.includes('Event')));
  for (const what of ['PoolCreated', 'NodeRegistered', 'PoolReady', 'Drift'])
    assert.ok(whats(pool).includes(what), what);
  const written = (await historyOf('a')).filter(({ what }) => what === 'NodeWritten');
  assert.deepEqual(
    written.map(({ who, detail, sources }) => [who, detail, sources]),
    [['kubectl-nodepool', 'last wrote annotation nodes.lailin.xyz/applied, taint k:NoSchedule', ['managedFields']]],
  );
});

test('distinguishes pools and nodes with the same name, unknown names and deleted objects', async () => {
  await gpu();
  await testEnv.pool('a', { nodeSelector: { x: 'y' } });
  const { stdout, stderr, code } = await cliHere(cluster(), ['history', 'a']);
  assert.equal(code, 0);
  assert.match(stdout, /^TIME +WHAT +WHO +DETAIL\n.*PoolCreated/);
  assert.match(stderr, /^A node has the same name: `kubectl nodepool history node\/a`\.\nNot shown: /);
  assert.ok(whats(await historyOf('node/a')).includes('NodeRegistered'));
  assert.ok(whats(await historyOf('pool/a')).includes('PoolCreated'));
  await refused(
    ['history', 'node/gpu'],
    1,
    'error: node "gpu" not found; next: list the nodes with `kubectl get nodes`',
  );
  await refused(['history', 'pool/b'], 1, /^error: nodepool "b" not found/);
  await refused(['history', 'gp'], 1, 'error: no pool or node is named "gp"; did you mean "gpu"?');
  await refused(
    ['history', 'none-at-all'],
    1,
    'error: no pool or node is named "none-at-all"; next: list the pools with `kubectl nodepool get`, and the nodes with `kubectl get nodes`',
  );
  await refused(['history', ''], 2, /^error: a name cannot be empty/);
  await refused(['history', 'gpu', '--since', 'x'], 2, /^error: --since: "x" is not a duration/);
  await product('delete', 'gpu', '--yes');
  assert.ok(whats(await historyOf('gpu')).includes('NodeJoined'), 'its Events are left');
  await testEnv.nodes({ name: 'gpu.a' }, { name: 'gpu.b' }, { name: 'lone.example.com' });
  assert.ok(whats(await historyOf('gpu')).includes('NodeJoined'), 'nodes that begin so are not meant');
  await refused(['history', 'node/gpu'], 1, /^error: node "gpu" is ambiguous: gpu\.a, gpu\.b/);
  assert.ok(whats(await historyOf('lone')).includes('NodeRegistered'), 'no pool ever had the name');
});

test('omits Events of an earlier pool with the name, and counts them in a note', async () => {
  await gpu();
  await product('delete', 'gpu', '--yes');
  await testEnv.pool('gpu');
  const { stdout, stderr } = await cliHere(cluster(), ['history', 'gpu']);
  assert.doesNotMatch(stdout, /NodeJoined/);
  const [, count] = /^Left out: (\d+) Events? of an earlier pool of the same name; /m.exec(stderr) ?? [];
  const { stdout: events } = await cliHere(cluster(), ['events', 'gpu', '-o', 'json']);
  assert.equal(Number(count), JSON.parse(events).items.length, stderr);
  assert.ok(events.includes('NodeJoined'));
});

test('shows the creation of a pool first, even if it was reconciled in the same second', async () => {
  for (let round = 0; ; round++) {
    const name = `p${round}`;
    await testEnv.nodes({ name: `${name}-a`, labels: role(name), ready: false });
    await testEnv.pool(name, { labels: { tier: 'gold' } });
    await testEnv.reconcile(name);
    const items = await historyOf(name);
    const timeOf = (what: string) => items.find(item => item.what === what)?.time?.slice(0, 19);
    assert.ok(whats(items).includes('NoReadyNode'), whats(items).join());
    // A reconcile takes a tenth of a second.
    const isOneSecond = new Set(['PoolCreated', 'NodeJoined', 'NoReadyNode'].map(timeOf)).size === 1;
    if (!isOneSecond && round < 10) continue;
    const order = whats(items).filter(what => /^(PoolCreated|SpecChanged|NodeJoined|NoReadyNode)$/.test(what));
    assert.deepEqual([order[0], order.at(-1)], ['PoolCreated', 'NoReadyNode'], whats(items).join());
    break;
  }
});

test('omits Events of an earlier node with the name, and counts them in a note', async () => {
  await gpu();
  const uidOf = async () => ((await testEnv.node('a')).metadata as unknown as { uid: string }).uid;
  const event = (name: string, reason: string, uid: string, time: Date, first = time) =>
    raw(cluster()).expect('POST', '/api/v1/namespaces/default/events', {
      metadata: { name, namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'a', uid },
      ...{ type: 'Normal', reason, message: 'x', source: { component: 'kubelet' }, count: first === time ? 1 : 3 },
      ...{ firstTimestamp: first.toISOString(), lastTimestamp: time.toISOString() },
    });
  const before = new Date(Date.now() - 60_000);
  await event('a.1', 'RegisteredNode', await uidOf(), new Date());
  await event('a.2', 'Rebooted', 'a', before);
  await ofKubectl('delete', 'node', 'a');
  await product('reconcile');
  // Of whole seconds: the new node is younger than all that was about the earlier one.
  await new Promise(resolve => setTimeout(resolve, 1_100));
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await event('a.3', 'Starting', 'a', new Date(Date.now() + 1_000));
  await event('a.4', 'NodeNotSchedulable', await uidOf(), new Date());
  await event('a.5', 'NodeHasSufficientPID', 'a', new Date(Date.now() + 1_000), before);
  await product('reconcile');
  const found = whats(await historyOf('a'));
  assert.deepEqual([found.includes('RegisteredNode'), found.includes('Rebooted')], [false, false], found.join());
  assert.deepEqual([found.includes('Starting'), found.includes('NodeNotSchedulable')], [true, true], found.join());
  assert.equal(found.filter(what => what === 'NodeJoined').length, 1, found.join());
  const repeated = (await historyOf('a')).find(({ what }) => what === 'NodeHasSufficientPID');
  assert.ok(repeated !== undefined && !('count' in repeated), 'most of them may be about the earlier node');
  const { stderr } = await cliHere(cluster(), ['history', 'node/a']);
  assert.match(
    stderr,
    /^Left out: 3 Events of an earlier node of the same name; see `kubectl events --for node\/a`\.$/m,
  );
});

test('supports output formats, --since and --limit', async () => {
  await gpu();
  const all = await historyOf('gpu');
  assert.deepEqual(await historyOf('gpu', '--limit', '2'), all.slice(-2));
  assert.deepEqual(await historyOf('gpu', '--since', '1h'), all);
  await new Promise(resolve => setTimeout(resolve, 1_500));
  const since = await cliHere(cluster(), ['history', 'gpu', '--since', '1ms']);
  assert.deepEqual([since.code, since.stdout, since.stderr], [0, '', 'No history found.\n']);
  const wide = await cliHere(cluster(), ['history', 'gpu', '-o', 'wide', '--no-headers']);
  assert.match(wide.stdout, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +\w+ +\S+ +\w/);
  assert.match(wide.stderr, LIMITS);
  const csv = await cliHere(cluster(), ['history', 'gpu', '-o', 'csv']);
  assert.match(csv.stdout, /^time,what,who,pool,node,detail,sources\n\d{4}-.*,gpu,,/);
  assert.equal(csv.stdout.trimEnd().split('\n').length, all.length + 1);
  const yaml = await cliHere(cluster(), ['history', 'gpu', '-o', 'yaml']);
  assert.match(yaml.stdout, /^apiVersion: cli\.nodes\.lailin\.xyz\/v1alpha1\nitems:\n/);
  assert.match(yaml.stdout, /kind: History\nsubject:\n {2}kind: NodePool\n {2}name: gpu\n$/);
});
