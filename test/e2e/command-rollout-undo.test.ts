/** `rollout history` and `rollout undo`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROLLER_REVISIONS, pathOf } from '../../src/kube/api/resource.ts';
import type { ControllerRevision } from '../../src/nodepool/rollout/revisions.ts';
import { kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, NO_TERMINAL } from './commands.ts';
import { openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';
import { poolWithHistory } from './undo.ts';

const testEnv = useTestEnv();
const { ok, unchanged } = commandsOf(testEnv.cluster);
const { run, specOf, dataOf, prepare } = poolWithHistory(testEnv);
const api = () => raw(testEnv.cluster());
const POOL = 'nodepool.nodes.lailin.xyz/web';
const REVISIONS = pathOf(CONTROLLER_REVISIONS);

test('history prints a table, one revision, or objects', async () => {
  await prepare();
  assert.equal(
    await ok(['rollout', 'history', 'web']),
    `${POOL}\nREVISION  CHANGE-CAUSE\n1         <none>\n2         a better tier\n3         <none>\n`,
  );
  assert.equal(
    await ok(['rollout', 'history', 'npool/web', '--revision=3']),
    `${POOL} with revision #3
spec:
  labels:
    "9": x
    a: "y"
    tier: "3"
  startupTaints:
  - effect: NoSchedule
    key: s
    until:
      nodeCondition: Ok
  unmanaged: Keep
`,
  );
  const list = JSON.parse(await ok(['rollout', 'history', 'web', '-o', 'json']));
  const revisions = await testEnv.revisions();
  assert.equal(list.kind, 'List');
  assert.deepEqual(
    list.items.map(({ kind, revision, data }: ControllerRevision & { kind: string }) => [kind, revision, data]),
    revisions.map(({ revision, data }) => ['ControllerRevision', revision, data]),
  );
  const yaml = await ok(['rollout', 'history', 'web', '--revision=2', '-o', 'yaml']);
  assert.equal(
    yaml,
    (await kubectl(testEnv.cluster(), ['get', 'controllerrevision', revisions[1]?.metadata.name ?? '', '-o', 'yaml']))
      .stdout,
  );
});

test('undo restores a revision byte for byte with its cause, and keeps the strategy', async () => {
  await prepare();
  const first = await specOf();
  const wanted = await dataOf(2);
  await testEnv.edit('web', { spec: { rollout: { maxConcurrent: 1, settleSeconds: 0 } } });
  const back = await run('undo', 'web');
  assert.deepEqual([back.code, back.stdout], [0, `${POOL} rolled back\n`]);
  assert.equal(
    back.stderr,
    `  + spec.handler: runc
  ~ spec.labels[tier]: 3 -> 2
  + spec.taints[a:PreferNoSchedule]: v
  + spec.taints[b:NoSchedule]: ""
`,
  );
  const pool = await testEnv.getPool('web');
  assert.deepEqual(pool?.spec.rollout, { maxConcurrent: 1, settleSeconds: 0 });
  assert.equal(pool?.metadata.annotations?.['kubernetes.io/change-cause'], 'a better tier');
  const { rollout: _rollout, ...restored } = pool?.spec ?? {};
  assert.equal(JSON.stringify(restored), JSON.stringify(wanted));
  assert.equal((await testEnv.node('a')).metadata.labels.tier, '3', 'nodes are for reconcile');
  // A step of the rollout at a time.
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels.tier, '2');
  assert.equal((await testEnv.node('b')).metadata.labels.tier, '3');
  await testEnv.reconcile();
  assert.equal(
    await ok(['rollout', 'history', 'web']),
    `${POOL}\nREVISION  CHANGE-CAUSE\n1         <none>\n3         <none>\n4         a better tier\n`,
  );
  // The one before is the third again; then the first, with text of any kind.
  assert.equal((await run('undo', 'web')).code, 0);
  await testEnv.edit('web', { spec: { rollout: { maxConcurrent: null, settleSeconds: null } } });
  assert.equal(await specOf(), first);
  const oldest = JSON.stringify(await dataOf(1));
  assert.equal((await run('undo', 'web', '--to-revision=1')).code, 0);
  assert.equal((await specOf())?.replace(',"rollout":{}', ''), oldest);
});

test('undo also reverts an edit that was not reconciled, and keeps a pool paused', async () => {
  await prepare();
  const before = await specOf();
  await testEnv.edit('web', { spec: { labels: { tier: 'wrong' } } });
  assert.equal((await run('undo', 'web')).stdout, `${POOL} rolled back\n`);
  assert.equal(await specOf(), before);
  assert.equal(
    await ok(['rollout', 'undo', 'web', '--to-revision=3']),
    `${POOL} skipped rollback (current spec already matches revision 3)\n`,
  );
  // It saved the spec that it replaced: a second undo restores that one, and a third the revision.
  assert.equal((await run('undo', 'web')).code, 0);
  assert.equal((await testEnv.getPool('web'))?.spec.labels?.tier, 'wrong');
  assert.equal((await run('undo', 'web')).code, 0);
  assert.equal(await specOf(), before);
  await testEnv.edit('web', { spec: { paused: true } });
  assert.equal((await run('undo', 'web', '--to-revision=2')).code, 0);
  const { spec } = (await testEnv.getPool('web')) ?? {};
  assert.deepEqual([spec?.paused, spec?.labels?.tier], [true, '2']);
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels.tier, '3');
  assert.deepEqual(
    (await testEnv.revisions()).map(({ revision }) => revision),
    [1, 2, 3, 4],
  );
});

test('undo reverts the first change of a pool that was never reconciled', async () => {
  await testEnv.pool('web', { labels: { tier: '1' } });
  const first = await specOf();
  for (const tier of ['2', '3']) await ok(['edit', 'web', '--label', `tier=${tier}`]);
  await unchanged(['edit', 'web', '--label=tier=4', '--dry-run=server']);
  assert.equal((await run('undo', 'web')).code, 0);
  assert.equal((await testEnv.getPool('web'))?.spec.labels?.tier, '2');
  assert.equal((await run('undo', 'web', '--to-revision=1')).code, 0);
  assert.equal(await specOf(), first);
  await testEnv.reconcile();
  assert.deepEqual(
    (await testEnv.revisions()).map(({ revision }) => revision),
    [2, 3, 4],
  );
});

test('undo supports dry runs and output formats', async () => {
  await prepare();
  for (const [flag, suffix] of [
    ['client', ' (dry run)'],
    ['server', ' (server dry run)'],
  ] as const) {
    const { code, stdout, stderr } = await unchanged(['rollout', 'undo', 'web', `--dry-run=${flag}`]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^ {2}~ spec\.labels\[tier\]: 3 -> 2$/m);
    assert.ok(stdout.endsWith(`\n${POOL} rolled back${suffix}\n`), stdout);
  }
  const dry = await unchanged(['rollout', 'undo', 'web', '--dry-run=client', '-o', 'json']);
  assert.equal(JSON.parse(dry.stdout).spec.labels.tier, '2');
  const { stdout } = await run('undo', 'web', '-o', 'json');
  assert.deepEqual(JSON.parse(stdout).spec, (await testEnv.getPool('web'))?.spec);
  assert.equal((await run('undo', 'web', '-o', 'name')).stdout, `${POOL}\n`);
});

test('prints the same as kubectl for a DaemonSet', async () => {
  await prepare();
  const template = (image: string) => ({
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image }] },
  });
  const set = (await api().expect('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: { app: 'web' } }, template: template('i:3') },
  })) as { metadata: { uid: string } };
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web', uid: set.metadata.uid, controller: true };
  for (const at of [1, 2, 3]) {
    const annotations = at === 2 ? { 'kubernetes.io/change-cause': 'a better tier' } : {};
    await api().expect('POST', REVISIONS, {
      metadata: { name: `set-${at}`, labels: { app: 'web' }, annotations, ownerReferences: [owner] },
      data: { spec: { template: { ...template(`i:${at}`), $patch: 'replace' } } },
      revision: at,
    });
  }
  const same = async (args: string[]) => {
    const theirs = await kubectl(testEnv.cluster(), ['rollout', ...args.map(arg => arg.replace('web', 'ds/web'))]);
    const ours = await run(...args);
    const plain = (text: string) =>
      text
        .replaceAll('daemonset.apps/web', POOL)
        .replace('current template', 'current spec')
        // Our next step, and the changes of a dry run.
        .replace(/; next: .*/, '')
        .replace(/^ {2}[~+-] .*\n/gm, '')
        .replace(/ +$/gm, '')
        .trimEnd();
    assert.deepEqual([ours.code, plain(ours.stdout)], [theirs.code, plain(theirs.stdout)], args.join(' '));
    if (ours.code !== 0) assert.equal(plain(ours.stderr), plain(theirs.stderr), args.join(' '));
  };
  await same(['history', 'web']);
  await same(['history', 'web', '--revision=9']);
  await same(['undo', 'web', '--to-revision=9']);
  await same(['undo', 'web']);
  await same(['undo', 'web', '--to-revision=1', '--dry-run=server']);
  for (const revision of await testEnv.revisions()) {
    if (revision.revision < 3) await api().expect('DELETE', `${REVISIONS}/${revision.metadata.name}`);
  }
  await testEnv.edit('web', { spec: { labels: { tier: '3' }, handler: null, taints: null } });
  await same(['undo', 'web']);
  for (const { metadata } of await testEnv.revisions()) await api().expect('DELETE', `${REVISIONS}/${metadata.name}`);
  const none = await run('history', 'web');
  assert.equal(none.stdout, `${POOL}\nNo rollout history found.\n`);
  await same(['history', 'web']);
  await api().expect('DELETE', '/apis/apps/v1/namespaces/default/daemonsets/web');
});

test('status --revision fails if another revision is rolled out', async () => {
  await prepare();
  const done = await run('status', 'web', '--revision=3', '--watch=false');
  assert.deepEqual([done.code, done.stderr], [0, '']);
  const other = await run('status', 'web', '--revision=2');
  assert.equal(other.code, 1);
  assert.match(other.stderr, /^error: desired revision \(2\) is different from the running revision \(3\); next: /);
  const names = (await testEnv.revisions()).map(({ metadata }) => `controllerrevision.apps/${metadata.name}\n`);
  assert.equal(await ok(['rollout', 'history', 'web', '-o', 'name']), names.join(''));
});

test('prints colours as escapes only, in a pipe and on a terminal', { skip: NO_TERMINAL ?? false }, async t => {
  await prepare();
  const changed = '\u001b[33m~ spec.labels[tier]: 3 -> 2\u001b[39m';
  const dry = await run('undo', 'web', '--dry-run=client', '--color=always');
  assert.deepEqual([dry.stdout.includes(changed), dry.stderr], [true, ''], dry.stdout);
  const terminal = openTerminal(t, testEnv.cluster(), ['rollout', 'undo', 'web', '--dry-run=client']);
  assert.equal((await terminal.exit).exitCode, 0);
  assert.ok(terminal.written().includes(changed), terminal.written());
  assert.match(terminal.screen(), /^ {2}~ spec\.labels\[tier\]: 3 -> 2$/m);
  const piped = await run('undo', 'web', '--color=always');
  assert.equal(piped.stdout, `${POOL} rolled back\n`);
  assert.ok(piped.stderr.includes(changed), piped.stderr);
  const back = openTerminal(t, testEnv.cluster(), ['rollout', 'undo', 'web']);
  assert.equal((await back.exit).exitCode, 0);
  assert.match(back.screen(), /^ {2}~ spec\.labels\[tier\]: 2 -> 3$/m);
});
