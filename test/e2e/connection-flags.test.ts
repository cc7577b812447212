/** kubectl's connection flags on a real kube-apiserver: kubectl with the same flags gets the same answer. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientCertificate } from '../cluster/certificates.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

/** Nothing to read: the flags say it all. */
const nowhere = () => ({ KUBECONFIG: file('none'), HOME: file('home') });
/** Its context names a user that it does not have. */
const userless = () => ({ KUBECONFIG: file('userless') });
const HERE = () => ({});
const file = (name: string) => join(cluster().dir, `flags-${name}`);

/** Writes the files, and returns the token of a service account. */
async function prepare(): Promise<string> {
  const other = clientCertificate(cluster().authority, 'bob', []);
  const texts = {
    ca: cluster().ca,
    cert: cluster().admin.cert,
    key: cluster().admin.key,
    'bob.cert': other.cert,
    'bob.key': other.key,
    userless: JSON.stringify({
      'current-context': 'x',
      clusters: [{ name: 'c', cluster: { server: cluster().server, 'certificate-authority': file('ca') } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'gone' } }],
    }),
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(file(name), text, { mode: 0o600 });
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await raw(cluster()).expect('POST', accounts, { metadata: { name: 'flags' } });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
  const made = await raw(cluster()).expect('POST', `${accounts}/flags/token`, request);
  return (made as { status: { token: string } }).status.token;
}

const server = () => ['--server', cluster().server];
const authority = () => ['--certificate-authority', file('ca')];
const admin = () => ['--client-certificate', file('cert'), '--client-key', file('key')];
const bob = () => ['--client-certificate', file('bob.cert'), '--client-key', file('bob.key')];
const FORBIDDEN = /user "bob" may not list|User "bob" cannot list/;

test('connection flags work and fail as in kubectl, and no log contains a token', { timeout: 120_000 }, async t => {
  const token = await prepare();
  const cases: [name: string, flags: () => string[], env: () => Record<string, string>, error?: RegExp][] = [
    ['without a kubeconfig', () => [...server(), ...authority(), ...admin()], nowhere],
    ['-s', () => ['-s', cluster().server, ...authority(), ...admin()], nowhere],
    ['--insecure-skip-tls-verify', () => [...server(), '--insecure-skip-tls-verify', ...admin()], nowhere],
    ['with the kubeconfig: another user', bob, HERE, FORBIDDEN],
    ['with the kubeconfig: no check of the certificate', () => ['--insecure-skip-tls-verify'], HERE],
    ['a --tls-server-name of the certificate', () => ['--tls-server-name', 'localhost'], HERE],
    [
      'a --tls-server-name that is not of the certificate',
      () => ['--tls-server-name', 'other.example'],
      HERE,
      /other\.example(?!.*set tls-server-name)/,
    ],
    ['an authority that did not sign', () => ['--certificate-authority', file('bob.cert')], HERE, /certificate/],
    ['uncompressed', () => ['--disable-compression'], HERE],
    ['a token', () => [...server(), ...authority(), '--token', token], nowhere, /system:serviceaccount:default:flags/],
    ["a certificate in place of the context's user, which does not exist", admin, userless],
    ['a token instead of the missing user', () => ['--token', token], userless, /system:serviceaccount:default:flags/],
    ['--user with another user', () => ['--user', 'away', ...admin()], userless, /"?away"?/],
    ['a wrong token', () => [...server(), ...authority(), '--token', 'x'], nowhere, /401|logged in|Unauthorized/],
  ];
  for (const [name, flags, env, error] of cases) {
    await t.test(name, async () => {
      const mine = await cli(cluster(), [...flags(), 'get'], { env: env() });
      const theirs = await kubectl(cluster(), [...flags(), 'get', 'npool'], { env: env() });
      for (const { code, stderr } of [mine, theirs]) {
        assert.equal(code === 0, error === undefined, stderr);
        if (error !== undefined) assert.match(stderr, error);
      }
    });
  }
  const flags = [...server(), ...authority(), '--token', token];
  const { stderr } = await cli(cluster(), ['get', ...flags, '-v', '9'], { env: nowhere() });
  assert.match(stderr, /GET https/);
  assert.ok(!stderr.includes(token));
});
