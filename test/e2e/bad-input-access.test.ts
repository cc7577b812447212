/** Unreachable clusters, missing permissions and wrong command lines: the exact error, the exit code, and no write. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused, unchanged } = commandsOf(cluster);

/** The cluster's kubeconfig with another server or user. */
async function kubeconfig(change: (text: string) => string): Promise<string> {
  const path = join(cluster().dir, `access-${Math.random().toString(36).slice(2)}.kubeconfig`);
  await writeFile(path, change(await readFile(cluster().kubeconfig, 'utf8')));
  return path;
}

test('reports a missing kubeconfig', async () => {
  const home = join(cluster().dir, 'home');
  const next = 'next: use --kubeconfig FILE, or set KUBECONFIG';
  await refused(
    ['get'],
    1,
    `error: no kubeconfig found (looked at ${home}/.kube/config; not inside a cluster); ${next}`,
    {
      env: { KUBECONFIG: undefined },
    },
  );
  await refused(
    ['create', 'x', '--kubeconfig', '/no/such'],
    1,
    'error: --kubeconfig: no such file: /no/such; next: check the path',
  );
  const names = `next: use one of its contexts with --context: nodepool-demo`;
  await refused(
    ['reconcile', '--context', 'prod'],
    1,
    `error: --context: "prod" is not in ${cluster().kubeconfig}; ${names}`,
  );
});

test('reports a server that refuses connections, and one that never answers', async t => {
  const sockets: Socket[] = [];
  const silent = createServer(socket => void sockets.push(socket)).listen(0, '127.0.0.1');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await new Promise(resolve => silent.once('listening', resolve));
  const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const path = await kubeconfig(text => text.replace(cluster().server, server));
  const started = Date.now();
  await refused(
    ['delete', 'x', '--request-timeout', '1s', '--kubeconfig', path],
    1,
    `error: the server ${server} gave no answer within 1 s; next: check that the cluster is up, or wait longer with --request-timeout`,
  );
  assert.ok(Date.now() - started < 15_000, 'it waited for longer than the limit');
  for (const socket of sockets) socket.destroy();
  await new Promise(resolve => silent.close(resolve));
  await refused(
    ['diff', '--kubeconfig', path],
    2,
    `error: cannot reach the server ${server}: connection refused; next: check that the server is running, and the address in ${path}`,
  );
});

test('reports an expired certificate and a bad token', async () => {
  const expired = await kubeconfigFor(cluster(), 'eve', { notAfter: new Date('2024-05-06T07:08:09Z') });
  await refused(
    ['get', '--kubeconfig', expired],
    1,
    `error: the client certificate of user "nodepool-demo" in ${expired} expired at 2024-05-06T07:08:09Z; next: renew the certificate, or use another user with --user or --context`,
  );
  const token = await kubeconfig(text => text.replace(/client-certificate-data: .*\n.*/, 'token: not-one'));
  const line = `error: the server ${cluster().server} refused the credentials of user "nodepool-demo" (401); next: log in again, or use another user of ${token} with --user or --context`;
  await refused(['edit', 'x', '--label', 'a=b', '--kubeconfig', token], 1, line);
  const { stderr } = await unchanged(['get', '--kubeconfig', token, '-v', '9']);
  assert.match(stderr, /^NodepoolError: .*\n {4}at /m);
  assert.doesNotMatch(stderr, /not-one/);
});

const GROUPS = { nodepools: '.nodes.lailin.xyz', nodes: '', runtimeclasses: '.node.k8s.io' };

test('names the missing permission in every command on a 403', async () => {
  const bob = await kubeconfigFor(cluster(), 'bob');
  const pools = 'nodepools.nodes.lailin.xyz';
  const crd = 'customresourcedefinitions.apiextensions.k8s.io';
  const cannotGetCrd = `get CustomResourceDefinition "${pools}"`;
  const classes = 'runtimeclasses.node.k8s.io';
  const revisions = 'controllerrevisions.apps in default';
  const look = [`list on ${pools}`, 'list on nodes'];
  // Behind the refused one: what the command would read next.
  const cases: [args: string[], cannot: string, lacks: string[]][] = [
    [['get'], 'list nodepools', [`list on ${pools}`, `get on ${pools}`]],
    [['create', 'x'], 'create NodePool "x"', [`create on ${pools}`]],
    [['edit', 'x', '--label', 'a=b'], 'get NodePool "x"', [`get on ${pools}`]],
    [
      ['delete', 'x'],
      'get NodePool "x"',
      [`get on ${pools}`, ...look, 'get on nodes', `list on ${classes}`, `get on ${classes}`],
    ],
    [['events'], 'list events', ['list on events.events.k8s.io in default', `get on ${pools}`, `list on ${pools}`]],
    [['install'], cannotGetCrd, [`get on ${crd}`, `list on ${pools}`]],
    [
      ['uninstall', '--cascade'],
      cannotGetCrd,
      [
        `get on ${crd}`,
        ...look,
        `list on ${classes}`,
        'get on deployments.apps "nodepool-controller" in nodepool-system',
        ...['policies', 'policybindings'].flatMap(kind => [
          `get on mutatingadmission${kind}.admissionregistration.k8s.io "born-in-pool.nodes.lailin.xyz"`,
          ...['protect-records', 'protect-membership'].map(
            name => `get on validatingadmission${kind}.admissionregistration.k8s.io "${name}.nodes.lailin.xyz"`,
          ),
        ]),
      ],
    ],
  ];
  for (const [args, cannot, lacks] of cases) {
    const roles = lacks.map(each => `verb ${each}`).join(', ');
    const line = `error: user "bob" may not ${cannot}; next: ask for a role with ${roles}`;
    await refused([...args, '--kubeconfig', bob], 1, line);
  }
  // These read several resources at once and name all refusals, of pools first.
  for (const [command, code, plurals, others] of [
    ['describe', 1, ['nodepools', 'nodes'], [`list on ${classes}`, 'list on events.events.k8s.io in default']],
    [
      'reconcile',
      1,
      ['nodepools', 'nodes', 'runtimeclasses'],
      ['get on nodes', `get on ${pools}`, `get on ${classes}`, `get on ${revisions}`, `list on ${revisions}`],
    ],
    ['diff', 2, ['nodepools', 'nodes', 'runtimeclasses'], []],
  ] as const) {
    const lines = plurals.map(plural => `  user "bob" may not list ${plural}\n`).join('');
    const listed = plurals.map(plural => `list on ${plural}${GROUPS[plural]}`);
    const next = [...listed, ...others].map(each => `verb ${each}`).join(', ');
    const error = `error: the user lacks permissions:\n${lines}next: ask for a role with ${next}`;
    await refused([command, '--kubeconfig', bob], code, error);
  }
});

/** The kubeconfig of a user with only these permissions. */
async function userWith(user: string, rules: object[]): Promise<string> {
  const roles = '/apis/rbac.authorization.k8s.io/v1';
  await raw(cluster()).expect('POST', `${roles}/clusterroles`, { metadata: { name: user }, rules });
  await raw(cluster()).expect('POST', `${roles}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
  });
  return kubeconfigFor(cluster(), user);
}

test('names the pool when reconcile is forbidden midway, and create --nodes creates no pool alone', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const rules = [
    {
      apiGroups: ['', 'nodes.lailin.xyz', 'node.k8s.io'],
      resources: ['nodes', 'nodepools', 'runtimeclasses'],
      verbs: ['get', 'list'],
    },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['create'] },
  ];
  const rita = await userWith('rita', rules);
  const next = (what: string) => `next: ask for a role with verb patch on ${what}`;
  const { code, stdout, stderr } = await unchanged(['reconcile', '--kubeconfig', rita]);
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 1,
      stdout: 'gpu  error        not reconciled\n',
      stderr: `error: gpu: user "rita" may not patch NodePool "gpu"; ${next('nodepools.nodes.lailin.xyz')}\n`,
    },
  );
  await testEnv.nodes({ name: 'b' });
  await refused(
    ['create', 'new', '--nodes', 'b', '--kubeconfig', rita],
    1,
    `error: user "rita" may not patch Node "b"; ${next('nodes')}`,
  );
});

test('reports a 403 of all nodes once, with the missing permission', async () => {
  await testEnv.nodes(...Array.from({ length: 30 }, (_, at) => ({ name: `n${at + 10}`, labels: role('gpu') })));
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.edit('gpu', { spec: { labels: { tier: 'silver' } } });
  const nora = await userWith('nora', [
    { apiGroups: ['', 'node.k8s.io'], resources: ['nodes', 'runtimeclasses'], verbs: ['get', 'list'] },
    { apiGroups: ['nodes.lailin.xyz', 'events.k8s.io'], resources: ['*'], verbs: ['*'] },
    { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['*'] },
  ]);
  const line = (about: string) =>
    `error: ${about}user "nora" may not patch 30 nodes (first: n10); next: ask for a role with verb patch on nodes\n`;
  const reconciled = await cliHere(cluster(), ['reconcile', '--concurrency', '4', '--kubeconfig', nora]);
  assert.equal(reconciled.stderr, line('gpu: '));
  const deleted = await cliHere(cluster(), ['delete', 'gpu', '--concurrency', '4', '--kubeconfig', nora]);
  assert.deepEqual(
    [deleted.code, deleted.stderr],
    [1, `${line('')}nodepool.nodes.lailin.xyz "gpu" is not deleted yet\n`],
  );
});

test('exits with 2 on a wrong command line, and refers to the help', async () => {
  const cases: [args: string[], error: string, command?: string][] = [
    [['creat'], 'unknown command "creat"; did you mean "create"?'],
    [['get', '--selectr', 'a=b'], 'unknown flag --selectr; did you mean --selector?', 'get'],
    [['edit', 'a', 'b'], 'unexpected argument b', 'edit'],
    [['edit'], 'missing argument NAME; next: for example, run `kubectl nodepool edit worker`', 'edit'],
    [['create'], 'no pool is specified; next: name a pool, or use -f FILE', 'create'],
    [['delete'], 'no pool is specified; next: name a pool, or use -l SELECTOR or --all', 'delete'],
    [
      ['create', 'x', '-f', 'y'],
      '-f reads pools from a file and cannot be used with a name, --nodes or pool flags',
      'create',
    ],
    [
      ['get', '-o', 'table'],
      'unknown output format "table"; next: use one of json, yaml, name, wide, jsonpath=, jsonpath-file=, ' +
        'jsonpath-as-json=, custom-columns=, custom-columns-file=, go-template, go-template-file, template, ' +
        'templatefile, kyaml',
      'get',
    ],
    [
      ['reconcile', '--concurrency', '0'],
      '--concurrency: expected an integer greater than or equal to 1 but received: 0',
      'reconcile',
    ],
    [
      ['get', '--request-timeout', 'soon'],
      '--request-timeout: "soon" is not a duration; next: write it like 30s, 1m30s or 2h',
      'get',
    ],
    [
      ['-o', 'wide', 'get'],
      'unknown flag -o before the command; next: write flags after the command: `kubectl nodepool get -o wide`; `kubectl nodepool options` lists the flags that may come first',
    ],
  ];
  for (const [args, error, command] of cases) {
    const help = `See 'kubectl nodepool${command === undefined ? '' : ` ${command}`} --help'.`;
    await refused(args, 2, `error: ${error}\n${help}`);
  }
});
