import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { loadCredentials } from '../../../src/kube/credentials.ts';
import type { UserEntry } from '../../../src/kube/kubeconfig-file.ts';
import type { RequestLog } from '../../../src/kube/request-log.ts';
import { clientCertificate, createAuthority } from '../../cluster/certificates.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'credentials-'));
after(() => rmSync(folder, { recursive: true }));

const authority = createAuthority('test');
const ends = new Date('2031-02-03T04:05:06Z');
const client = clientCertificate(authority, 'someone', [], { notAfter: ends });
const base64 = (text: string) => Buffer.from(text).toString('base64');

function credentials(user: Omit<UserEntry, 'name'>, server = 'https://s', log?: RequestLog) {
  const cluster = { name: 'c', server, skipTlsVerify: false, caData: base64(authority.cert) };
  const env = { PATH: process.env.PATH };
  return loadCredentials(
    { cluster, user: { name: 'u', ...user }, source: '/k' },
    { env, ...(log === undefined ? {} : { log }) },
  );
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
    [
      'a token serves where its file is not there',
      { token: 't', tokenFile: '/no/token' },
      { Authorization: 'Bearer t' },
    ],
    ['a user without a password', { username: 'a' }, { Authorization: `Basic ${base64('a:')}` }],
    [
      'impersonation of all there is',
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
      'impersonation in letters that are no bytes of a header: in UTF-8, as Go',
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

test('a client certificate, and when it ends', async () => {
  const loaded = await credentials({ certData: base64(client.cert), keyData: base64(client.key) });
  assert.deepEqual(loaded.certificateEnds, ends);
  assert.equal(loaded.renewal, undefined);
  assert.ok(loaded.secureContext);
  assert.equal((await credentials({}, 'http://s')).secureContext, undefined);
});

describe('an exec plugin', () => {
  const apiVersion = 'client.authentication.k8s.io/v1';
  const exec = (command: string) => ({ exec: { apiVersion, command, interactiveMode: 'Never' } });
  const answer = (status: object) => `echo '${JSON.stringify({ kind: 'ExecCredential', apiVersion, status })}'`;

  test('gives a token', async () => {
    const loaded = await credentials(exec(plugin('token-plugin', answer({ token: 'exec-token' }))));
    assert.deepEqual(loaded.headers, { Authorization: 'Bearer exec-token' });
  });

  /** Counts its runs in a file; each gives another token. */
  function counting(name: string, expires: string) {
    const runs = path.join(folder, `${name}.runs`);
    writeFileSync(runs, '');
    const status = `{"token":"'$(wc -l < '${runs}' | tr -d ' ')'"${expires}}`;
    const command = plugin(
      name,
      `echo run >> '${runs}'; echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":${status}}'`,
    );
    return { command, runs: () => readFileSync(runs, 'utf8').split('\n').length - 1 };
  }

  async function renew(command: string, refused: boolean) {
    const { renewal } = await credentials(exec(command));
    assert.ok(renewal);
    return (await renewal.load({ refused })).headers;
  }

  test('is run again only when what it gave is refused or has expired', async () => {
    const lasting = counting('lasting', '');
    assert.deepEqual(await renew(lasting.command, false), { Authorization: 'Bearer 1' });
    assert.equal(lasting.runs(), 1);
    assert.deepEqual(await renew(lasting.command, true), { Authorization: 'Bearer 3' });
    assert.equal(lasting.runs(), 3);
    const dated = (date: string) => `,"expirationTimestamp":"${date}"`;
    assert.deepEqual(await renew(counting('valid', dated('2999-01-01T00:00:00Z')).command, false), {
      Authorization: 'Bearer 1',
    });
    assert.deepEqual(await renew(counting('expired', dated('2001-01-01T00:00:00Z')).command, false), {
      Authorization: 'Bearer 2',
    });
  });

  test('is not run where the kubeconfig has a token, a user or a certificate, or for plain HTTP', async () => {
    const { command, runs } = counting('unused', '');
    const tokenFile = path.join(folder, 'unused-token');
    writeFileSync(tokenFile, 'in-file');
    await credentials({ ...exec(command), token: 't' });
    await credentials({ ...exec(command), tokenFile });
    await credentials({ ...exec(command), username: 'a' });
    await credentials({ ...exec(command), certData: base64(client.cert), keyData: base64(client.key) });
    const plain = await credentials({ ...exec(command), as: 'x' }, 'http://s');
    assert.deepEqual([plain.headers, plain.renewal], [{ 'Impersonate-User': 'x' }, undefined]);
    assert.equal(runs(), 0);
  });

  test('gives a certificate', async () => {
    writeFileSync(
      path.join(folder, 'answer.json'),
      JSON.stringify({
        kind: 'ExecCredential',
        apiVersion,
        status: { clientCertificateData: client.cert, clientKeyData: client.key },
      }),
    );
    const loaded = await credentials(exec(plugin('cert-plugin', `cat '${path.join(folder, 'answer.json')}'`)));
    assert.deepEqual(loaded.certificateEnds, ends);
  });

  test('that gives what is no certificate is run again, however long that was to last', async () => {
    const runs = path.join(folder, 'useless.runs');
    const good = path.join(folder, 'useless.good');
    writeFileSync(good, JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 't' } }));
    const old = answer({ token: 'old', expirationTimestamp: '2001-01-01T00:00:00Z' });
    const bad = answer({ clientCertificateData: 'C', clientKeyData: 'K' });
    const command = plugin(
      'useless',
      `echo run >> '${runs}'; case $(wc -l < '${runs}' | tr -d ' ') in 1) ${old};; 2) ${bad};; *) cat '${good}';; esac`,
    );
    const { renewal } = await credentials(exec(command));
    assert.ok(renewal);
    await assert.rejects(renewal.load({ refused: false }), /cannot be used/);
    assert.deepEqual((await renewal.load({ refused: false })).headers, { Authorization: 'Bearer t' });
    await renewal.load({ refused: false });
    assert.equal(readFileSync(runs, 'utf8'), 'run\n'.repeat(3));
  });

  test('that fails is named, with what it said', async () => {
    const failing = plugin('failing', 'echo "session expired" >&2; exit 1');
    await assert.rejects(credentials(exec(failing)), {
      message: `the plugin ${failing} gave no credentials for user "u": it failed with exit code 1`,
      next: 'see what it said, and log in again with that tool',
    });
    await assert.rejects(credentials(exec('/no/such/plugin')), /the plugin \/no\/such\/plugin gave no credentials/);
  });
});

test('over plain HTTP nothing that proves who we are is sent, as by client-go', async () => {
  assert.deepEqual((await credentials({ token: 't' }, 'http://s')).headers, {});
  assert.deepEqual((await credentials({ username: 'a', password: 'b' }, 'http://s')).headers, {});
});

test('a token file that is read again: the secure context stays while CA, certificate and key do', async () => {
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
  assert.deepEqual(third.certificateEnds, new Date('2032-01-01T00:00:00Z'));
});

test('a token beside its file serves until the file has one, and again when what the file gave is refused', async () => {
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
  assert.match(lines.join(), /^the credentials read before stay in use: the tokenFile of user "u", .* is empty$/);
  assert.deepEqual(await next(true), { Authorization: 'Bearer own' });
});

describe("a client certificate's files", () => {
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
    assert.deepEqual(second.certificateEnds, new Date('2033-01-01T00:00:00Z'));
    assert.equal((await second.renewal?.load({ refused: true }))?.secureContext, second.secureContext);
  });

  test('half replaced, or gone: the last good ones go on, which is told; not when those are refused', async () => {
    write(client);
    const lines: string[] = [];
    const log: RequestLog = (level, text) => lines.push(`${level} ${text()}`);
    const first = await credentials({ certFile, keyFile }, 'https://s', log);
    assert.ok(first.renewal);
    write({ cert: next.cert });
    assert.equal(await first.renewal.load({ refused: false }), first);
    assert.match(lines.join(), /^0 the credentials read before stay in use: the certificates of cluster "c"/);
    await assert.rejects(first.renewal.load({ refused: true }), /cannot be used/);
    write({ key: next.key });
    const second = await first.renewal.load({ refused: false });
    assert.notEqual(second.secureContext, first.secureContext);
    rmSync(keyFile);
    assert.equal(await second.renewal?.load({ refused: false }), second);
    await assert.rejects(credentials({ certFile, keyFile }), /cannot read the client-key of user "u"/);
  });
});

describe('what cannot be used', () => {
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
    ['no key', { certData: base64(client.cert) }, 'user "u" in /k has a client-certificate and no client-key'],
    ['no certificate', { keyData: base64(client.key) }, 'user "u" in /k has a client-key and no client-certificate'],
    [
      'a line break in a token',
      { token: 'secret\nX: y' },
      'what user "u" sends as Authorization has a character that no header may have',
    ],
    [
      'a line break in a name',
      { as: 'x', asGroups: ['g', 'h\r\nX: y'] },
      'what user "u" sends as Impersonate-Group has a character that no header may have',
    ],
    ['an empty token file', { tokenFile: '/dev/null' }, 'the tokenFile of user "u", /dev/null, is empty'],
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
