/** `rollout history` and `rollout undo`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROLLER_REVISIONS, pathOf } from '../../src/kube/resources/resource.ts';
import type { ControllerRevision } from '../../src/nodepool/revisions.ts';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { ok, refused, unchanged } = commandsOf(testEnv.cluster);
const api = () => raw(testEnv.cluster());
const POOL = 'nodepool.nodes.lailin.xyz/web';
const REVISIONS = pathOf(CONTROLLER_REVISIONS);
const run = (...args: string[]) => cli(testEnv.cluster(), ['rollout', ...args]);
const edit = async (spec: NodePoolSpec | Record<string, unknown>, cause: string | null = null) => {
  await testEnv.edit('web', { metadata: { annotations: { 'kubernetes.io/change-cause': cause } }, spec });
  await testEnv.reconcile();
};
const specOf = async () => JSON.stringify((await testEnv.getPool('web'))?.spec);
const dataOf = async (revision: number) => {
  const found = (await testEnv.revisions()).find(each => each.revision === revision);
  assert.ok(found, `revision ${revision}`);
  return (found.data as { spec: NodePoolSpec }).spec;
};

/** Three revisions, the second with a cause. */
async function prepare(): Promise<void> {
  await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', {
    rollout: {},
    labels: { tier: '1', '9': 'x', a: 'y' },
    annotations: { note: 'first\nline "quoted" <&> ä' },
    taints: [
      { key: 'b', effect: 'NoSchedule' },
      { key: 'a', value: 'v', effect: 'PreferNoSchedule' },
    ],
    startupTaints: [{ key: 's', effect: 'NoSchedule', until: { nodeCondition: 'Ok' } }],
    handler: 'runc',
    unmanaged: 'Keep',
  });
  await testEnv.reconcile();
  await edit({ labels: { tier: '2' }, annotations: null }, 'a better tier');
  await edit({ labels: { tier: '3' }, handler: null, taints: null });
}

test('history, as a table, of one revision, and as objects', async () => {
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

test('undo brings back byte for byte what the revision had, with its cause, and leaves the strategy', async () => {
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

test('an edit that was not reconciled is undone, too; a pool that is paused stays paused', async () => {
  await prepare();
  const before = await specOf();
  await testEnv.edit('web', { spec: { labels: { tier: 'wrong' } } });
  assert.equal((await run('undo', 'web')).stdout, `${POOL} rolled back\n`);
  assert.equal(await specOf(), before);
  assert.equal(
    await ok(['rollout', 'undo', 'web', '--to-revision=3']),
    `${POOL} skipped rollback (current spec already matches revision 3)\n`,
  );
  await testEnv.edit('web', { spec: { paused: true } });
  assert.equal((await run('undo', 'web')).code, 0);
  const { spec } = (await testEnv.getPool('web')) ?? {};
  assert.deepEqual([spec?.paused, spec?.labels?.tier], [true, '2']);
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels.tier, '3');
  assert.deepEqual(
    (await testEnv.revisions()).map(({ revision }) => revision),
    [1, 2, 3],
  );
});

test('dry runs and outputs', async () => {
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

test('what kubectl says of a DaemonSet', async () => {
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

test('errors say what to do next', async () => {
  await refused(['rollout', 'history', 'web'], 1, /^error: nodepool "web" not found/);
  await testEnv.pool('web', { labels: { tier: '1' } });
  const without = 'set spec.rollout, an empty one too: from then on each reconcile of a new spec keeps a revision';
  const none = await unchanged(['rollout', 'history', 'web']);
  assert.deepEqual([none.code, none.stderr], [0, `next: ${without}\n`]);
  const message = 'error: no rollout history found for nodepool "web"';
  await refused(['rollout', 'undo', 'web'], 1, `${message}; next: ${without}`);
  await testEnv.edit('web', { spec: { rollout: {} } });
  await refused(
    ['rollout', 'undo', 'web'],
    1,
    `${message}; next: run \`kubectl nodepool reconcile web\`, which keeps the first one`,
  );
  await testEnv.reconcile();
  await refused(['rollout', 'undo', 'web'], 1, 'error: no last revision to roll back to');
  await refused(
    ['rollout', 'undo', 'web', '--to-revision=7'],
    1,
    'error: unable to find specified revision 7 in history; next: choose one of `kubectl nodepool rollout history web`',
  );
  await refused(['rollout', 'undo', 'web', '--to-revision=-1'], 2, /--to-revision/);
  await refused(['rollout', 'undo', 'web', '--revision=1'], 2, /^error: --revision: only `rollout history` has it/);
  await refused(['rollout', 'pause', 'web', '--to-revision=1'], 2, /^error: --to-revision: only `rollout undo` has it/);
  await refused(['rollout', 'history', 'web', '--dry-run=client'], 2, /^error: --dry-run: history writes nothing/);
  await refused(['rollout', 'history', 'web', '-o', 'name'], 2, /^error: -o name: /);
});

test('a revision that the pool must not have is not written, and others are never taken for its own', async () => {
  await prepare();
  const [own] = await testEnv.revisions();
  assert.ok(own);
  const forge = (name: string, data: object, owners = own.metadata.ownerReferences, revision = 9) =>
    api().expect('POST', REVISIONS, {
      metadata: { name, labels: own.metadata.labels, ownerReferences: owners },
      data,
      revision,
    });
  const [owner] = own.metadata.ownerReferences ?? [];
  await forge('of-another', { spec: { labels: { tier: 'forged' } } }, [{ ...owner, uid: 'x' } as never]);
  await refused(['rollout', 'undo', 'web', '--to-revision=9'], 1, /^error: unable to find specified revision 9/);
  // Whoever may write ControllerRevisions there can name the pool as the owner: the spec is validated as any other.
  await forge('invalid', { spec: { labels: { 'kubernetes.io/hostname': 'x' } } });
  await refused(
    ['rollout', 'undo', 'web', '--to-revision=9'],
    1,
    /^error: revision 9 of nodepool web.*spec\.labels\[kubernetes\.io\/hostname\]/,
  );
  await forge('unknown', { spec: { labels: { tier: '1' }, notAField: 1 } }, undefined, 10);
  await refused(['rollout', 'undo', 'web', '--to-revision=10'], 1, /notAField/);
  await forge('types', { spec: { labels: 7, paused: true, rollout: { canary: -1 } } }, undefined, 11);
  await refused(['rollout', 'undo', 'web', '--to-revision=11'], 1, /^error: revision 11 of nodepool web.*spec\.labels/);
  await forge('screen', { spec: { labels: { tier: '1' }, '\u001b[31mred': 1 } }, undefined, 12);
  const { stdout } = await run('history', 'web', '--revision=12');
  assert.ok(!stdout.includes('\u001b'), stdout);
});

test('asks as edit does, and needs --yes in a script', { skip: NO_TERMINAL }, async () => {
  await testEnv.nodes(
    { name: 'a', labels: { ...role('web'), zone: 'a' } },
    { name: 'b', labels: { ...role('web'), zone: 'b' } },
  );
  await testEnv.pool('web', { rollout: {}, nodeSelector: { zone: 'a' } });
  await testEnv.reconcile();
  await edit({ nodeSelector: { zone: 'b' } });
  const message =
    /^ {2}~ spec\.nodeSelector\[zone\]: b -> a\nwarning: with the new selector 1 of 1 node leave pool web: b; no pool takes them\nerror: .*--yes$/;
  await refused(['rollout', 'undo', 'web'], 1, message);
  const no = await inTerminal(testEnv.cluster(), ['rollout', 'undo', 'web'], 'n\n');
  assert.equal(no.code, 1);
  assert.match(no.shown, /Save pool web\?/);
  assert.match(no.shown, /nothing was changed/);
  const yes = await inTerminal(testEnv.cluster(), ['rollout', 'undo', 'web'], 'y\n');
  assert.equal(yes.code, 0, yes.shown);
  assert.equal(yes.shown.match(/spec\.nodeSelector\[zone\]/g)?.length, 1, yes.shown);
  assert.match(yes.shown, /rolled back/);
  assert.deepEqual((await testEnv.getPool('web'))?.spec.nodeSelector, { zone: 'a' });
});

test('warns of a pool that kubectl apply manages', async () => {
  await prepare();
  await testEnv.edit('web', {
    metadata: {
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec: { labels: { tier: '3' } } }),
      },
    },
  });
  const { code, stderr } = await run('undo', 'web');
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^warning: the next `kubectl apply` of the file of pool web sets spec.labels.tier back; next: change the file, too$/m,
  );
});
