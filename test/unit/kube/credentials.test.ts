import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { loadCredentials } from '../../../src/kube/credentials.ts';
import type { UserEntry } from '../../../src/kube/kubeconfig-file.ts';
import { clientCertificate, createAuthority } from '../../cluster/certificates.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'credentials-'));
after(() => rmSync(folder, { recursive: true }));

const authority = createAuthority('test');
const ends = new Date('2031-02-03T04:05:06Z');
const client = clientCertificate(authority, 'someone', [], { notAfter: ends });
const base64 = (text: string) => Buffer.from(text).toString('base64');

function credentials(user: Omit<UserEntry, 'name'>, server = 'https://s') {
  const cluster = { name: 'c', server, skipTlsVerify: false, caData: base64(authority.cert) };
  return loadCredentials({ cluster, user: { name: 'u', ...user }, source: '/k' });
}

function plugin(name: string, script: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

describe('headers', () => {
  const tokenFile = path.join(folder, 'token');
  writeFileSync(tokenFile, 'from-file\n');
  const table: [string, Omit<UserEntry, 'name'>, Record<string, string | string[]>][] = [
    ['nothing', {}, {}],
    ['a token', { token: 't' }, { Authorization: 'Bearer t' }],
    ['a token file goes before a token', { token: 't', tokenFile }, { Authorization: 'Bearer from-file' }],
    ['a password', { username: 'a', password: 'b:c' }, { Authorization: `Basic ${base64('a:b:c')}` }],
    ['impersonation', { as: 'x', asGroups: ['g', 'h'] }, { 'Impersonate-User': 'x', 'Impersonate-Group': ['g', 'h'] }],
  ];
  for (const [name, user, headers] of table) {
    test(name, async () => assert.deepEqual((await credentials(user)).headers, headers));
  }
});

test('a client certificate, and when it ends', async () => {
  const loaded = await credentials({ certData: base64(client.cert), keyData: base64(client.key) });
  assert.deepEqual(loaded.certificateEnds, ends);
  assert.equal(loaded.renewable, false);
  assert.ok(loaded.secureContext);
  assert.equal((await credentials({}, 'http://s')).secureContext, undefined);
});

describe('an exec plugin', () => {
  const exec = (command: string) => ({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command } });
  const answer = (status: object) => `echo '${JSON.stringify({ kind: 'ExecCredential', status })}'`;

  test('gives a token', async () => {
    const loaded = await credentials(exec(plugin('token-plugin', answer({ token: 'exec-token' }))));
    assert.deepEqual(loaded.headers, { Authorization: 'Bearer exec-token' });
    assert.equal(loaded.renewable, true);
  });

  test('gives a certificate', async () => {
    writeFileSync(
      path.join(folder, 'answer.json'),
      JSON.stringify({ status: { clientCertificateData: client.cert, clientKeyData: client.key } }),
    );
    const loaded = await credentials(exec(plugin('cert-plugin', `cat '${path.join(folder, 'answer.json')}'`)));
    assert.deepEqual(loaded.certificateEnds, ends);
  });

  test('that fails is named, with what it said', async () => {
    const failing = plugin('failing', 'echo "session expired" >&2; exit 1');
    await assert.rejects(credentials(exec(failing)), {
      message: `the plugin ${failing} gave no credentials for user "u": session expired`,
      next: 'log in again with that tool',
    });
    await assert.rejects(credentials(exec('/no/such/plugin')), /the plugin \/no\/such\/plugin gave no credentials/);
  });
});

describe('what cannot be used', () => {
  const table: [string, Omit<UserEntry, 'name'>, string][] = [
    ['no key', { certData: base64(client.cert) }, 'user "u" in /k has a client-certificate and no client-key'],
    ['no certificate', { keyData: base64(client.key) }, 'user "u" in /k has a client-key and no client-certificate'],
    ['a missing file', { tokenFile: '/no/token' }, 'cannot read the tokenFile of user "u", /no/token: no such file'],
  ];
  for (const [name, user, message] of table) {
    test(name, () => assert.rejects(credentials(user), { message }));
  }

  test('text that is no certificate', () =>
    assert.rejects(
      credentials({ certData: base64('nonsense'), keyData: base64('nonsense') }),
      /^NodepoolError: the certificates of cluster "c" and user "u" in \/k cannot be used: /,
    ));

  test("another's key", () => {
    const other = clientCertificate(authority, 'other', [], {});
    return assert.rejects(
      credentials({ certData: base64(client.cert), keyData: base64(other.key) }),
      /^NodepoolError: the certificates of cluster "c" and user "u" in \/k cannot be used: /,
    );
  });
});
