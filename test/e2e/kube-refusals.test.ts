/** The whole error messages when a real kube-apiserver, or the client for it, refuses. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Connection, type ConnectionOptions, connect } from '../../src/kube/connect.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { useErrorCases } from './error-cases.ts';

const { cluster, reported, kubeconfig } = useErrorCases();

/** The message and the next step of the error that `use` ends with. */
async function failure(
  kubeconfig: string,
  use: (connection: Connection) => Promise<unknown>,
  options: Partial<ConnectionOptions> = {},
): Promise<string> {
  const connection = await connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0', ...options });
  try {
    await use(connection);
  } catch (error) {
    assert.ok(error instanceof NodepoolError, `not for a user: ${error}`);
    return `${error.message}; next: ${error.next}`;
  } finally {
    connection.close();
  }
  return assert.fail('nothing was refused');
}

function withCa(): string {
  return `, certificate-authority-data: ${Buffer.from(cluster().ca).toString('base64')}`;
}

test('reports an unknown certificate authority', async () => {
  const path = await kubeconfig(cluster().server);
  assert.equal(
    await reported(path),
    `the certificate of the server ${cluster().server} is signed by an unknown authority; next: check certificate-authority of cluster "c" in ${path}`,
  );
  const careless = await kubeconfig(cluster().server, 'token: bad', ', insecure-skip-tls-verify: true');
  assert.match(await reported(careless), /refused the credentials/);
});

test('reports a certificate for another name', async () => {
  const path = await kubeconfig(cluster().server, '', `${withCa()}, tls-server-name: other.example`);
  assert.equal(
    await reported(path),
    `the certificate of the server ${cluster().server} is not valid for the name other.example; next: correct the server's name, or set tls-server-name in ${path}`,
  );
});

test('reports an invalid token', async () => {
  const path = await kubeconfig(cluster().server, 'token: bad', withCa());
  assert.equal(
    await reported(path),
    `the server ${cluster().server} refused the credentials of user "u" (401); next: log in again, or use another user of ${path} with --user or --context`,
  );
});

test('reports an expired client certificate', async () => {
  const path = await kubeconfigFor(cluster(), 'eve', { notAfter: new Date('2024-05-06T07:08:09Z') });
  assert.equal(
    await reported(path),
    `the client certificate of user "nodepool-demo" in ${path} expired at 2024-05-06T07:08:09Z; next: renew the certificate, or use another user with --user or --context`,
  );
});

test('names each missing permission', async () => {
  const bob = await kubeconfigFor(cluster(), 'bob');
  const patch = { resourceVersion: '1', labels: { a: 'b' } };
  const pool = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'p' }, spec: {} };
  const refused: [string, (connection: Connection) => Promise<unknown>][] = [
    ['list nodes', ({ cluster }) => cluster.nodes.list()],
    ['patch Node "a"', ({ cluster }) => cluster.nodes.patch('a', patch)],
    ['list nodepools', ({ cluster }) => cluster.pools.list()],
    [
      'patch the status of NodePool "p"',
      ({ cluster }) => cluster.pools.patchStatus(pool, { status: 200, nodeCount: 0 }),
    ],
    ['list events', ({ events }) => events.list()],
    ['get CustomResourceDefinition "nodepools.nodes.lailin.xyz"', ({ crd }) => crd.get()],
  ];
  const wanted = [
    'list on nodes',
    'patch on nodes',
    'list on nodepools.nodes.lailin.xyz',
    'patch on nodepools.nodes.lailin.xyz/status',
    'list on events.events.k8s.io',
    'get on customresourcedefinitions.apiextensions.k8s.io',
  ];
  for (const [i, [what, use]] of refused.entries()) {
    assert.equal(await failure(bob, use), `user "bob" may not ${what}; next: ask for a role with verb ${wanted[i]}`);
  }
  assert.equal(
    await failure(bob, ({ cluster }) => cluster.nodes.list(), { as: 'alice' }),
    'cannot list nodes: user "bob" may not impersonate users; next: ask for a role with verb impersonate on users, or leave out --as',
  );
});

test('names the impersonated user with groups', async () => {
  const admin = cluster().kubeconfig;
  assert.equal(
    await failure(admin, ({ cluster }) => cluster.nodes.list(), { as: 'alice', asGroup: ['some'] }),
    'user "alice" may not list nodes; next: ask for a role with verb list on nodes',
  );
  const options = { kubeconfig: admin, env: {}, log: () => {}, version: '0.0.0', as: 'alice' };
  const connection = await connect({ ...options, asGroup: ['some', 'system:masters'] });
  assert.deepEqual(await connection.cluster.nodes.list(), []);
  connection.close();
});

test('reports a write that the server refuses as invalid', async () => {
  await createNodes(cluster(), [{ name: 'a' }]);
  const node = await raw(cluster()).expect('GET', '/api/v1/nodes/a');
  const { resourceVersion } = (node as { metadata: { resourceVersion: string } }).metadata;
  assert.equal(
    await failure(cluster().kubeconfig, ({ cluster }) =>
      cluster.nodes.patch('a', { resourceVersion, labels: { 'not a key': 'x' } }),
    ),
    "cannot patch Node \"a\": invalid: metadata.labels: Invalid value: \"not a key\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); next: correct the object",
  );
});

test('shows no credentials in the request log', async () => {
  const lines: [number, string][] = [];
  const path = await kubeconfig(cluster().server, 'token: secret-token', withCa());
  await failure(path, ({ serverVersion }) => serverVersion(), { log: (level, text) => lines.push([level, text()]) });
  const brief = lines.filter(([level]) => level <= 6).map(([, text]) => text);
  assert.equal(brief.length, 1);
  assert.match(brief[0] ?? '', new RegExp(`^GET ${cluster().server}/version 401 in \\d+ ms$`));
  const all = lines.map(([, text]) => text).join('\n');
  assert.match(all, /Authorization: <hidden>/);
  assert.match(all, /answer body: .*Unauthorized/);
  assert.doesNotMatch(all, /secret-token/);
  assert.doesNotMatch(all, /PRIVATE KEY/);
});

test('reads certificates and tokens from files beside the kubeconfig', async () => {
  const { admin, ca, dir } = cluster();
  await writeFile(join(dir, 'ca.pem'), ca);
  await writeFile(join(dir, 'admin.pem'), admin.cert);
  await writeFile(join(dir, 'admin.key'), admin.key);
  const path = await kubeconfig(
    cluster().server,
    'client-certificate: admin.pem, client-key: ./admin.key',
    ', certificate-authority: ca.pem',
  );
  const connection = await connect({ kubeconfig: path, env: {}, log: () => {}, version: '0.0.0' });
  assert.match(await connection.serverVersion(), /^v1/);
  connection.close();
  assert.ok((await readFile(path, 'utf8')).includes('admin.pem'));

  const missing = await kubeconfig(cluster().server, 'client-certificate: gone.pem, client-key: admin.key', withCa());
  assert.equal(
    await reported(missing),
    `cannot read the client-certificate of user "u", ${join(dir, 'gone.pem')}: no such file; next: correct the path`,
  );
});
