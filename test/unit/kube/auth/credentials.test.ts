import assert from 'node:assert/strict';
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { UserEntry } from '../../../../src/kube/auth/kubeconfig-file.ts';
import type { RequestLog } from '../../../../src/kube/transport/request-log.ts';
import { clientCertificate } from '../../../cluster/certificates.ts';
import { authority, base64, client, credentials, ends, folder } from './credentials-fixture.ts';

describe('sets headers', () => {
  const tokenFile = path.join(folder, 'token');
  writeFileSync(tokenFile, 'from-file\n');
  const table: [string, Omit<UserEntry, 'name'>, Record<string, string | string[]>][] = [
    ['nothing', {}, {}],
    ['a token', { token: 't' }, { Authorization: 'Bearer t' }],
    ['a token file takes precedence over a token', { token: 't', tokenFile }, { Authorization: 'Bearer from-file' }],
    ['a password', { username: 'a', password: 'b:c' }, { Authorization: `Basic ${base64('a:b:c')}` }],
    ['a token is used if its file is missing', { token: 't', tokenFile: '/no/token' }, { Authorization: 'Bearer t' }],
    ['a user without a password', { username: 'a' }, { Authorization: `Basic ${base64('a:')}` }],
    [
      'impersonation with user, UID, groups and extras',
      { as: 'x', asUid: '7', asUserExtra: { scopes: ['a', 'b'], 'example.com/%é': ['c'] } },
      {
        'Impersonate-User': 'x',
        'Impersonate-Uid': '7',
        'Impersonate-Extra-scopes': ['a', 'b'],
        'Impersonate-Extra-example.com%2F%25%C3%A9': ['c'],
      },
    ],
    ['impersonation', { as: 'x', asGroups: ['g', 'h'] }, { 'Impersonate-User': 'x', 'Impersonate-Group': ['g', 'h'] }],
    [
      'impersonation with non-ASCII names: in UTF-8, as Go',
      { as: 'zoë', asUid: 'ë', asGroups: ['群'], asUserExtra: { k: ['ë'] } },
      {
        'Impersonate-User': 'zo\xc3\xab',
        'Impersonate-Uid': '\xc3\xab',
        'Impersonate-Group': ['\xe7\xbe\xa4'],
        'Impersonate-Extra-k': ['\xc3\xab'],
      },
    ],
  ];
  for (const [name, user, headers] of table) {
    test(name, async () => assert.deepEqual((await credentials(user)).headers, headers));
  }
});

test('returns a client certificate with its expiry', async () => {
  const loaded = await credentials({ certData: base64(client.cert), keyData: base64(client.key) });
  assert.deepEqual(loaded.certificateEnds(), ends);
  assert.equal(loaded.renewal, undefined);
  assert.ok(loaded.secureContext);
  assert.equal((await credentials({}, 'http://s')).secureContext, undefined);
});

test('sends no credentials over plain HTTP, as client-go does', async () => {
  assert.deepEqual((await credentials({ token: 't' }, 'http://s')).headers, {});
  assert.deepEqual((await credentials({ username: 'a', password: 'b' }, 'http://s')).headers, {});
});

test('keeps the secure context after a token file is read again if the TLS files are unchanged', async () => {
  const user = {
    tokenFile: path.join(folder, 'renewed-token'),
    certFile: path.join(folder, 'renewed.crt'),
    keyFile: path.join(folder, 'renewed.key'),
  };
  const write = (token: string, { cert, key }: typeof client) => {
    writeFileSync(user.tokenFile, token);
    writeFileSync(user.certFile, cert);
    writeFileSync(user.keyFile, key);
  };
  write('one', client);
  const first = await credentials(user);
  write('two', client);
  const second = await first.renewal?.load({ refused: false });
  assert.deepEqual(second?.headers, { Authorization: 'Bearer two' });
  assert.equal(second.secureContext, first.secureContext);
  write('two', clientCertificate(authority, 'other', [], { notAfter: new Date('2032-01-01T00:00:00Z') }));
  const third = await second.renewal?.load({ refused: false });
  assert.ok(third?.secureContext);
  assert.notEqual(third.secureContext, first.secureContext);
  assert.deepEqual(third.certificateEnds(), new Date('2032-01-01T00:00:00Z'));
});

test('uses the inline token until the token file has one, or after a refusal of the latter', async () => {
  const tokenFile = path.join(folder, 'late-token');
  const lines: string[] = [];
  const log: RequestLog = (_level, text) => lines.push(text());
  const { renewal, headers } = await credentials({ token: 'own', tokenFile }, 'https://s', log);
  assert.ok(renewal);
  const next = async (refused = false) => (await renewal.load({ refused })).headers;
  assert.deepEqual([headers, await next()], [{ Authorization: 'Bearer own' }, { Authorization: 'Bearer own' }]);
  assert.deepEqual(lines, []);
  writeFileSync(tokenFile, 'written');
  assert.deepEqual(await next(), { Authorization: 'Bearer written' });
  writeFileSync(tokenFile, '');
  assert.deepEqual(await next(), { Authorization: 'Bearer written' });
  assert.match(lines.join(), /^the previous credentials stay in use: the tokenFile of user "u", .* is empty$/);
  assert.deepEqual(await next(true), { Authorization: 'Bearer own' });
});

describe('the files of a client certificate', () => {
  const [certFile, keyFile] = ['rotated.crt', 'rotated.key'].map(name => path.join(folder, name)) as [string, string];
  const next = clientCertificate(authority, 'someone', [], { notAfter: new Date('2033-01-01T00:00:00Z') });

  function write({ cert, key }: { cert?: string; key?: string }) {
    if (cert !== undefined) writeFileSync(certFile, cert);
    if (key !== undefined) writeFileSync(keyFile, key);
  }

  test('are read again', async () => {
    write(client);
    const first = await credentials({ certFile, keyFile });
    assert.equal(first.renewal?.afterMs, 60_000);
    assert.equal((await first.renewal.load({ refused: false })).secureContext, first.secureContext);
    write(next);
    const second = await first.renewal.load({ refused: false });
    assert.notEqual(second.secureContext, first.secureContext);
    assert.deepEqual(second.certificateEnds(), new Date('2033-01-01T00:00:00Z'));
    assert.equal((await second.renewal?.load({ refused: true }))?.secureContext, second.secureContext);
  });

  test('are used in their last valid state, with a warning, while half replaced or deleted', async () => {
    write(client);
    const lines: string[] = [];
    const log: RequestLog = (level, text) => lines.push(`${level} ${text()}`);
    const first = await credentials({ certFile, keyFile }, 'https://s', log);
    assert.ok(first.renewal);
    write({ cert: next.cert });
    assert.equal(await first.renewal.load({ refused: false }), first);
    assert.match(lines.join(), /^0 the previous credentials stay in use: the certificates of cluster "c"/);
    await assert.rejects(first.renewal.load({ refused: true }), /cannot be used/);
    write({ key: next.key });
    const second = await first.renewal.load({ refused: false });
    assert.notEqual(second.secureContext, first.secureContext);
    rmSync(keyFile);
    assert.equal(await second.renewal?.load({ refused: false }), second);
    await assert.rejects(credentials({ certFile, keyFile }), /cannot read the client-key of user "u"/);
  });
});

test('refuses a device such as /dev/zero as token or certificate', {
  skip: process.platform === 'win32' && 'Windows has no /dev/zero',
}, async () => {
  for (const user of [{ tokenFile: '/dev/zero' }, { certFile: '/dev/zero', keyFile: '/dev/zero' }]) {
    await assert.rejects(credentials(user), /cannot read the .*, \/dev\/zero: it is a device, not a regular/);
  }
});

test('refuses a token file of more than 4 MiB', async () => {
  const tokenFile = path.join(folder, 'large');
  writeFileSync(tokenFile, '');
  truncateSync(tokenFile, 4 * 1024 ** 2 + 1);
  await assert.rejects(credentials({ tokenFile }), /cannot read the tokenFile .*: it has more than 4 MiB/);
});
