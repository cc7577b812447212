/** kubectl's connection flags on a real kube-apiserver: kubectl with the same flags gets the same answer. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { clientCertificate } from '../cluster/certificates.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

/** Nothing to read: the flags say it all. */
const NOWHERE = { KUBECONFIG: '/nonexistent', HOME: '/nonexistent' };
const file = (name: string) => join(cluster().dir, `flags-${name}`);
let token = '';

before(async () => {
  const other = clientCertificate(cluster().authority, 'bob', []);
  const texts = {
    ca: cluster().ca,
    cert: cluster().admin.cert,
    key: cluster().admin.key,
    'bob.cert': other.cert,
    'bob.key': other.key,
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(file(name), text, { mode: 0o600 });
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await raw(cluster()).expect('POST', accounts, { metadata: { name: 'flags' } });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
  const made = await raw(cluster()).expect('POST', `${accounts}/flags/token`, request);
  token = (made as { status: { token: string } }).status.token;
});

const server = () => ['--server', cluster().server];
const authority = () => ['--certificate-authority', file('ca')];
const admin = () => ['--client-certificate', file('cert'), '--client-key', file('key')];
const bob = () => ['--client-certificate', file('bob.cert'), '--client-key', file('bob.key')];
const FORBIDDEN = /user "bob" lacks the permission|User "bob" cannot list/;

describe('works, or fails, as kubectl does', () => {
  const cases: [name: string, flags: () => string[], env: Record<string, string>, error?: RegExp][] = [
    ['without a kubeconfig', () => [...server(), ...authority(), ...admin()], NOWHERE],
    ['-s', () => ['-s', cluster().server, ...authority(), ...admin()], NOWHERE],
    ['--insecure-skip-tls-verify', () => [...server(), '--insecure-skip-tls-verify', ...admin()], NOWHERE],
    ['with the kubeconfig: another user', bob, {}, FORBIDDEN],
    ['with the kubeconfig: no check of the certificate', () => ['--insecure-skip-tls-verify'], {}],
    ['a name of the server that it has', () => ['--tls-server-name', 'localhost'], {}],
    ['a name that it does not have', () => ['--tls-server-name', 'other.example'], {}, /other\.example/],
    ['an authority that did not sign', () => ['--certificate-authority', file('bob.cert')], {}, /certificate/],
    ['uncompressed', () => ['--disable-compression'], {}],
    ['a token', () => [...server(), ...authority(), '--token', token], NOWHERE, /system:serviceaccount:default:flags/],
    ['a wrong token', () => [...server(), ...authority(), '--token', 'x'], NOWHERE, /401|logged in|Unauthorized/],
  ];
  for (const [name, flags, env, error] of cases) {
    test(name, async () => {
      const mine = await cli(cluster(), [...flags(), 'get'], { env });
      const theirs = await kubectl(cluster(), [...flags(), 'get', 'npool'], { env });
      for (const { code, stderr } of [mine, theirs]) {
        if (error === undefined) assert.equal(code, 0, stderr);
        else assert.notEqual(code, 0);
        if (error !== undefined) assert.match(stderr, error);
      }
    });
  }
});

test('the token is in no log', async () => {
  const flags = [...server(), ...authority(), '--token', token];
  const { stderr } = await cli(cluster(), ['get', ...flags, '-v', '9'], { env: NOWHERE });
  assert.match(stderr, /GET https/);
  assert.ok(!stderr.includes(token));
});
