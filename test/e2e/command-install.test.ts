import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import pjson from '../../package.json' with { type: 'json' };
import { commands } from '../../src/commands/index.ts';
import { cli, kubectl, useCluster } from '../cluster/harness.ts';
import { serverVersion } from '../cluster/minor.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL, stateOf } from './commands.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const CRD = 'customresourcedefinition.apiextensions.k8s.io';
const NAME = 'nodepools.nodes.lailin.xyz';
const MANIFEST = new URL('../../manifests/nodepools.nodes.lailin.xyz.yaml', import.meta.url);

const cluster = useCluster({}, started =>
  createNodes(started, [
    { name: 'n1', labels: role('worker') },
    { name: 'n2', labels: { ...role('bare'), ...role('doomed'), ...role('a') } },
  ]),
);
const { ok, refused, unchanged } = commandsOf(cluster);

const poolNames = async () => (await ok(['get', '-o', 'name'])).split('\n').filter(line => line !== '');

test('every command that needs the CRD names install when it is missing', async () => {
  const needing = [
    ['get'],
    ['get', 'worker'],
    ['describe'],
    ['create', 'worker', '--nodes', 'n1'],
    ['edit', 'worker', '--label', 'a=b'],
    ['edit', 'worker'],
    ['reconcile'],
    ['delete', 'worker', '--yes'],
    ['events'],
    ['events', 'worker', '--watch'],
    ['top'],
    ['nodes'],
    ['wait', 'worker', '--for', 'delete'],
    ['get', '--watch'],
    ['drain', 'worker'],
    ['adopt'],
    ['add', 'worker', 'n1'],
  ];
  const line = `error: the server ${cluster().server} does not have the NodePool resource; next: run \`kubectl nodepool install\``;
  for (const args of needing) await refused(args, 1, line);
  await refused(['diff'], 2, line);
  const uninstalled = await unchanged(['uninstall', '--yes']);
  assert.deepEqual(uninstalled, { code: 0, stdout: `${CRD}/${NAME} is not installed\n`, stderr: '' });
});

test('install creates the CRD once; dry runs and a second run write nothing', async () => {
  const text = await readFile(MANIFEST, 'utf8');
  const printed = await unchanged(['install', '--dry-run', '-o', 'yaml'], { env: { KUBECONFIG: '/nowhere' } });
  assert.deepEqual(printed, { code: 0, stdout: text, stderr: '' });
  assert.equal((await unchanged(['install', '--dry-run'])).stdout, `${CRD}/${NAME} created (dry run)\n`);
  assert.equal((await unchanged(['install', '--dry-run=server'])).stdout, `${CRD}/${NAME} created (server dry run)\n`);

  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'install']);
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: `${CRD}/${NAME} created\n`, stderr: '' });
  // install returns when the CRD is established, so the next command finds the resource.
  assert.deepEqual(await cli(cluster(), ['get']), { code: 0, stdout: '', stderr: 'No pools found.\n' });
  assert.equal((await unchanged(['install'])).stdout, `${CRD}/${NAME} unchanged\n`);
  assert.equal((await unchanged(['install', '--dry-run'])).stdout, `${CRD}/${NAME} unchanged (dry run)\n`);
  assert.deepEqual(JSON.parse(await ok(['install', '-o', 'json'])).metadata.name, NAME);
});

test('install repairs a foreign CRD, and pools without a spec work before that', async () => {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${NAME}`;
  const installed = (await raw(cluster()).expect('GET', path)) as { spec: { versions: { schema: object }[] } };
  for (const version of installed.spec.versions) {
    version.schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  }
  await raw(cluster()).expect('PUT', path, installed);
  const bare = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'bare' } };
  // The handler of the earlier CRD answers 503 until it has been replaced.
  const create = () => raw(cluster()).request('POST', '/apis/nodes.lailin.xyz/v1/nodepools', bare);
  await eventually('the server takes it', async () => (await create()).status === 201);

  assert.match(await ok(['get']), /^bare +Pending/m);
  assert.match(await ok(['describe', 'bare']), /Node Selector: +node-role.kubernetes.io\/bare= \(default\)/);
  assert.equal(await ok(['edit', 'bare', '--label', 'a=b']), 'nodepool.nodes.lailin.xyz/bare edited\n');
  assert.match(await ok(['reconcile']), /^bare +Ready +1 node /);
  assert.equal((await unchanged(['install', '--dry-run'])).stdout, `${CRD}/${NAME} configured (dry run)\n`);
  assert.equal(await ok(['install']), `${CRD}/${NAME} configured\n`);
  assert.equal(await ok(['delete', 'bare']), 'nodepool.nodes.lailin.xyz "bare" deleted (1 node released)\n');
});

test('install fails while the CRD is being deleted, until reconcile releases the nodes', async () => {
  await ok(['create', 'doomed', '--label', 'tier=gold', '--reconcile']);
  await raw(cluster()).expect('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${NAME}`);
  const doomed = () => raw(cluster()).expect('GET', '/apis/nodes.lailin.xyz/v1/nodepools/doomed');
  await eventually('its pool is deleted too', async () => JSON.stringify(await doomed()).includes('deletionTimestamp'));
  const next =
    'run `kubectl nodepool reconcile` to release the nodes and finish the deletion; then run the command again';
  const line = `error: the CRD ${NAME} and all pools are being deleted; next: ${next}`;
  for (const args of [['install'], ['install', '--dry-run'], ['install', '--controller']]) await refused(args, 1, line);
  await ok(['reconcile']);
  await eventually('it is deleted', async () =>
    (await cli(cluster(), ['install', '--dry-run'])).stdout.includes('created'),
  );
  assert.equal(await ok(['install']), `${CRD}/${NAME} created\n`);
});

test('uninstall refuses while pools exist; --cascade releases their nodes first', async () => {
  await ok(['create', 'worker', '--label', 'tier=gold', '--reconcile']);
  const left = `error: 1 pool exists: worker; next: first delete the pools, or add --cascade to release their nodes and delete them`;
  await refused(['uninstall'], 1, left);
  for (const [flag, suffix] of [
    ['--dry-run', '(dry run)'],
    ['--dry-run=server', '(server dry run)'],
  ] as const) {
    const { code, stdout } = await unchanged(['uninstall', '--cascade', flag]);
    const lines = [`nodepool.nodes.lailin.xyz "worker" deleted ${suffix}`, `${CRD} "${NAME}" deleted ${suffix}`];
    const plan = (await unchanged(['delete', 'worker', flag])).stdout.split('\n\nnodepool.')[0];
    assert.match(plan ?? '', /^node n1 \(leaves pool worker\)\n {2}- label tier/);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: `${plan}\n\n${lines.join('\n')}\n` });
  }
  const next = 'to continue, run the command again with --yes';
  const needsYes = `error: 1 pool would be deleted: worker; nothing was changed; next: ${next}`;
  await refused(['uninstall', '--cascade'], 1, needsYes);
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'uninstall', '--cascade', '--yes']);
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 0,
      stdout: `nodepool.nodes.lailin.xyz "worker" deleted (1 node released)\n${CRD} "${NAME}" deleted\n`,
      stderr: '',
    },
  );
  const node = (await raw(cluster()).expect('GET', '/api/v1/nodes/n1')) as { metadata: { labels: object } };
  assert.equal('tier' in node.metadata.labels, false);
  assert.deepEqual((await stateOf(cluster()))['/apis/apiextensions.k8s.io/v1/customresourcedefinitions'], []);
});

test('uninstall asks first on a terminal', { skip: NO_TERMINAL ?? false }, async () => {
  await ok(['install']);
  await ok(['create', 'a']);
  const refusal = await inTerminal(cluster(), ['uninstall', '--cascade'], '\n');
  assert.equal(refusal.code, 1);
  assert.match(
    refusal.shown,
    /Delete pool a \(releases 1 node\) and delete the NodePool CRD in context\s+\S+\s+\[y\/N\] nothing was deleted/,
  );
  assert.deepEqual(await poolNames(), ['nodepool.nodes.lailin.xyz/a']);
  const agreed = await inTerminal(cluster(), ['uninstall', '--cascade'], 'y\n');
  assert.equal(agreed.code, 0, agreed.shown);
  assert.ok(agreed.shown.includes(`${CRD} "${NAME}" deleted`), agreed.shown);
});

test('version prints client and server versions', async () => {
  const server = await serverVersion(cluster());
  const both = `Client Version: ${pjson.version}\nServer Version: ${server}\n`;
  assert.equal((await kubectl(cluster(), ['nodepool', 'version'])).stdout, both);
  const nowhere = { env: { KUBECONFIG: '/nowhere' } };
  assert.equal(await ok(['--version'], nowhere), `Client Version: ${pjson.version}\n`);
  assert.deepEqual(JSON.parse(await ok(['version', '-o', 'json'])), {
    clientVersion: pjson.version,
    serverVersion: server,
  });
  const { code, stdout, stderr } = await cli(cluster(), ['version'], nowhere);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: `Client Version: ${pjson.version}\n` });
  assert.match(stderr, /^error: no kubeconfig found \(looked at \/nowhere;/);
});

test('help of the program and of a command needs no cluster', async () => {
  const nowhere = { env: { KUBECONFIG: '/nowhere' } };
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool'], nowhere);
  assert.deepEqual([code, stderr], [0, '']);
  for (const command of Object.keys(commands)) assert.match(stdout, new RegExp(`^ {2}${command} +[A-Z].*\\.$`, 'm'));
  const edit = (await kubectl(cluster(), ['nodepool', 'edit', '--help'], nowhere)).stdout;
  assert.match(edit, /^EXAMPLES\n {2}# In an editor\n {2}(\$ )?kubectl nodepool edit worker$/m);
  assert.equal(await ok(['help', 'edit'], nowhere), edit);
});

// Last, as no controller finishes the deletion of the namespace.
test('dry runs of install --controller report each object as the server would', async () => {
  const command = (image: number) => ['install', '--controller', '--image', `r.example.com/c:${image}`];
  const said = async (flag: string, image = 1) => (await unchanged([...command(image), flag])).stdout;
  const before = await said('--dry-run');
  assert.match(before, /^(\S+ (created|unchanged) \(dry run\)\n)+$/);
  const made = await ok(command(1));
  assert.equal(made.replaceAll(/$(?<!^)/gm, ' (dry run)'), before);
  const after = await said('--dry-run');
  assert.match(after, /^(\S+ unchanged \(dry run\)\n)+$/);
  assert.equal(after.replaceAll('(dry', '(server dry'), await said('--dry-run=server'));
  const changed = await said('--dry-run', 2);
  assert.deepEqual(changed.match(/.*configured.*/g), ['deployment.apps/nodepool-controller configured (dry run)']);
});
