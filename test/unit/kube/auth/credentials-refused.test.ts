import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { UserEntry } from '../../../../src/kube/auth/kubeconfig-file.ts';
import { clientCertificate } from '../../../cluster/certificates.ts';
import { authority, base64, client, credentials, folder } from './credentials-fixture.ts';

const empty = path.join(folder, 'empty');
writeFileSync(empty, '');

describe('refuses unusable credentials', () => {
  const table: [string, Omit<UserEntry, 'name'>, string][] = [
    ['a token and a username', { token: 't', username: 'a' }, 'user "u" in the kubeconfig has a token and a username'],
    ['a token and a password', { token: 't', password: 'a' }, 'user "u" in the kubeconfig has a token and a password'],
    [
      'two certificates',
      { certData: base64(client.cert), certFile: '/c', keyData: base64(client.key) },
      'user "u" in the kubeconfig has client-certificate and client-certificate-data',
    ],
    [
      'two keys',
      { certData: base64(client.cert), keyData: base64(client.key), keyFile: '/k' },
      'user "u" in the kubeconfig has client-key and client-key-data',
    ],
    [
      'a plugin and an auth-provider',
      { exec: {}, authProvider: {} },
      'user "u" in the kubeconfig has an exec plugin and an auth-provider',
    ],
    ['no key', { certData: base64(client.cert) }, 'user "u" in /k has a client-certificate but no client-key'],
    ['no certificate', { keyData: base64(client.key) }, 'user "u" in /k has a client-key but no client-certificate'],
    [
      'a line break in a token',
      { token: 'secret\nX: y' },
      'the Authorization header of user "u" contains an invalid character',
    ],
    [
      'a line break in a name',
      { as: 'x', asGroups: ['g', 'h\r\nX: y'] },
      'the Impersonate-Group header of user "u" contains an invalid character',
    ],
    ['an empty token file', { tokenFile: empty }, `the tokenFile of user "u", ${empty}, is empty`],
    ['a missing file', { tokenFile: '/no/token' }, 'cannot read the tokenFile of user "u", /no/token: no such file'],
  ];
  for (const [name, user, message] of table) {
    test(name, () => assert.rejects(credentials(user), { message }));
  }

  test('text that is not a certificate', () =>
    assert.rejects(
      credentials({ certData: base64('nonsense'), keyData: base64('nonsense') }),
      /^NodepoolError: the certificates of cluster "c" and user "u" in \/k cannot be used: /,
    ));

  test('a key of another certificate', () => {
    const other = clientCertificate(authority, 'other', [], {});
    return assert.rejects(
      credentials({ certData: base64(client.cert), keyData: base64(other.key) }),
      /^NodepoolError: the certificates of cluster "c" and user "u" in \/k cannot be used: /,
    );
  });
});
