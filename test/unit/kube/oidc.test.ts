/** The auth-provider oidc against an issuer that is a real HTTPS server. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { load, loadAll, YAML11_SCHEMA } from 'js-yaml';
import { readKubeconfigFile } from '../../../src/kube/kubeconfig-file.ts';
import { authProviderOf } from '../../../src/kube/oidc.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { createAuthority, serverCertificate } from '../../cluster/certificates.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'oidc-'));
after(() => rmSync(folder, { recursive: true }));

const authority = createAuthority('issuer');
const NOW = Date.parse('2030-01-01T00:00:00Z');
let files = 0;

/** A token that ends so many seconds after NOW. */
function jwt(seconds: number, id = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: NOW / 1000 + seconds, id })}.x`;
}

describe('oidc', () => {
  const asked: string[] = [];
  /** What the token endpoint answers, in turn; the last one for ever. */
  let answers: [status: number, body: string][] = [];
  let discovery: [status: number, body?: string] = [200];
  /** What happens elsewhere before it answers. */
  let duringRefresh: ((isDiscovery: boolean) => Promise<void>) | undefined;
  const server = https.createServer(serverCertificate(authority, ['127.0.0.1']), async (request, response) => {
    const { method, url, headers } = request;
    const who = Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    const body = await text(request);
    asked.push([method, url, who, body].filter(Boolean).join(' '));
    const isDiscovery = url === '/realm/.well-known/openid-configuration';
    const own = JSON.stringify({ token_endpoint: `${origin()}/token` });
    await duringRefresh?.(isDiscovery);
    const [status, answer] = isDiscovery
      ? [discovery[0], discovery[1] ?? own]
      : ((answers.length > 1 ? answers.shift() : answers[0]) ?? [404, '']);
    response.writeHead(status).end(answer);
  });
  const origin = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  before(() => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)));
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  function open(config: object, { as = 'oidc' }: { as?: string } = {}) {
    asked.length = 0;
    const file = path.join(folder, `config-${++files}`);
    const all = {
      'idp-issuer-url': `${origin()}/realm/`,
      'client-id': 'kube',
      'client-secret': 'a b',
      'idp-certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
      ...config,
    };
    const user = { name: 'u', user: { 'auth-provider': { name: as, config: all } } };
    const other = { name: 'v', user: { token: '2030-01-01' } };
    const root = { 'current-context': 'c', users: [other, user], extra: { kept: ['1.10', 'yes', null, 5] } };
    writeFileSync(file, JSON.stringify(root), { mode: 0o640 });
    const entry = readKubeconfigFile(file)?.users[1];
    assert.ok(entry);
    const access = { cluster: { name: 'c', server: 'https://s', skipTlsVerify: false }, user: entry, source: file };
    const terminal = { stdin: 0, stderr: 2, stdinIsTTY: false, stdinIsSpent: () => false };
    const surroundings = { env: {}, now: () => NOW, terminal, signal: new AbortController().signal, log: () => {} };
    const provider = authProviderOf(access, surroundings);
    const written = () => load(readFileSync(file, 'utf8')) as typeof root;
    /** As another process does. */
    const rewrite = (change: object) => {
      const renewed = { name: 'u', user: { 'auth-provider': { name: as, config: { ...all, ...change } } } };
      writeFileSync(file, JSON.stringify({ ...root, users: [renewed] }));
    };
    return {
      rewrite,
      file,
      root,
      config: all,
      written,
      token: async () => (await provider.proof({ refused: false })).authorization,
    };
  }

  const gives = (body: object, status = 200): [number, string] => [status, JSON.stringify(body)];

  async function failure(config: object, options?: { as: string }): Promise<string> {
    try {
      await open(config, options).token();
    } catch (error) {
      assert.ok(error instanceof NodepoolError, String(error));
      return error.message;
    }
    return assert.fail('it was accepted');
  }

  test('an id-token that lasts is used as it is, without a question to anybody', async () => {
    const token = jwt(11);
    assert.equal(await open({ 'id-token': token }).token(), `Bearer ${token}`);
    assert.deepEqual(asked, []);
  });

  test('one that has ended, or does within 10 s, is renewed once and written back; all else stays', async () => {
    const next = jwt(3600);
    answers = [gives({ id_token: next, refresh_token: 'second', access_token: 'x' })];
    const { file, root, config, written, token } = open({ 'id-token': jwt(10), 'refresh-token': 'first' });
    assert.deepEqual([await token(), await token()], [`Bearer ${next}`, `Bearer ${next}`]);
    assert.deepEqual(asked, [
      'GET /realm/.well-known/openid-configuration',
      'POST /token kube:a%20b grant_type=refresh_token&refresh_token=first',
    ]);
    const [other] = root.users;
    const renewed = { ...config, 'id-token': next, 'refresh-token': 'second' };
    assert.deepEqual(written(), {
      ...root,
      users: [other, { name: 'u', user: { 'auth-provider': { name: 'oidc', config: renewed } } }],
    });
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.equal(existsSync(`${file}.lock`), false);
  });

  test('an issuer that wants to know who we are in the form', async () => {
    const next = jwt(60);
    answers = [gives({ error: 'invalid_client' }, 401), gives({ id_token: next })];
    const { token, written } = open({ 'refresh-token': 'r' });
    assert.equal(await token(), `Bearer ${next}`);
    assert.equal(asked[2], 'POST /token grant_type=refresh_token&refresh_token=r&client_id=kube&client_secret=a+b');
    assert.match(JSON.stringify(written()), /"refresh-token":"r"/);
  });

  test('a kubeconfig that is a link stays one', async () => {
    const { file, token } = open({ 'refresh-token': 'r' });
    answers = [gives({ id_token: jwt(60) })];
    const target = `${file}.real`;
    writeFileSync(target, readFileSync(file));
    rmSync(file);
    symlinkSync(target, file);
    await token();
    assert.match(readFileSync(target, 'utf8'), /id-token/);
    assert.equal(readFileSync(file, 'utf8'), readFileSync(target, 'utf8'));
  });

  test('tokens that cannot be kept are an error: the old refresh-token may be spent', async () => {
    answers = [gives({ id_token: jwt(60) })];
    const { file, token } = open({ 'refresh-token': 'r' });
    const lock = `${file}.lock`;
    writeFileSync(lock, '');
    const before = readFileSync(file, 'utf8');
    await assert.rejects(token(), {
      message: `the auth-provider oidc gave no credentials for user "u": its new tokens cannot be written to ${file}: ${lock} is there: kubectl writes it, or was killed and left that file`,
      next: 'mend that, then log in again with the tool that wrote the kubeconfig',
    });
    assert.equal(readFileSync(file, 'utf8'), before);
    rmSync(lock);
    await token();
  });

  test('a lock that goes soon is waited for', async () => {
    answers = [gives({ id_token: jwt(60) })];
    const { file, token, written } = open({ 'refresh-token': 'r' });
    writeFileSync(`${file}.lock`, '');
    setTimeout(() => rmSync(`${file}.lock`), 120);
    await token();
    assert.match(JSON.stringify(written()), /id-token/);
  });

  test('what another process has renewed is taken from the file: a refresh-token may be good once', async () => {
    const [theirs, ours] = [jwt(3600, 'theirs'), jwt(3600, 'ours')];
    answers = [gives({ id_token: ours })];
    const { rewrite, token } = open({ 'id-token': jwt(5), 'refresh-token': 'first' });
    rewrite({ 'id-token': theirs, 'refresh-token': 'second' });
    assert.equal(await token(), `Bearer ${theirs}`);
    assert.deepEqual(asked, []);
  });

  test('its refresh-token too, when its id-token has ended', async () => {
    answers = [gives({ id_token: jwt(60) })];
    const { rewrite, token } = open({ 'id-token': jwt(5), 'refresh-token': 'first' });
    rewrite({ 'id-token': jwt(0), 'refresh-token': 'second' });
    await token();
    assert.match(asked.at(-1) ?? '', /refresh_token=second/);
  });

  test('two at once: the one whose refresh-token is spent takes what the other got', async () => {
    const theirs = jwt(3600, 'theirs');
    answers = [gives({ error: 'invalid_grant' }, 400)];
    const { rewrite, token } = open({ 'refresh-token': 'first' });
    duringRefresh = async isDiscovery => {
      if (!isDiscovery) rewrite({ 'id-token': theirs, 'refresh-token': 'second' });
    };
    assert.equal(await token(), `Bearer ${theirs}`);
    duringRefresh = undefined;
  });

  test('a file that cannot be read meanwhile changes nothing', async () => {
    const next = jwt(60);
    answers = [gives({ id_token: next })];
    const { file, token } = open({ 'refresh-token': 'r' });
    const text = readFileSync(file);
    writeFileSync(file, 'a: [');
    duringRefresh = async () => writeFileSync(file, text);
    assert.equal(await token(), `Bearer ${next}`);
    duringRefresh = undefined;
  });

  test('anchors, merge keys, other documents and words of older YAML stay what they were', async () => {
    answers = [gives({ id_token: jwt(60) })];
    const { file, token } = open({ 'refresh-token': 'r' });
    const [first] = [JSON.parse(readFileSync(file, 'utf8'))];
    const own = `users: [${JSON.stringify(first.users[1])}, {name: v, user: &v {password: "1_000", username: "on"}}, {name: w, user: {<<: *v, token: "0x1"}}]`;
    writeFileSync(file, `${own}\n---\nsecond: document\n`);
    await token();
    const [written, second] = loadAll(readFileSync(file, 'utf8'), { schema: YAML11_SCHEMA }) as [
      { users: { user: object }[] },
      object,
    ];
    const v = { password: '1_000', username: 'on' };
    assert.deepEqual(written.users.slice(1).map(({ user }) => user), [v, { ...v, token: '0x1' }]);
    assert.deepEqual(second, { second: 'document' });
  });

  test('its owner stays', { skip: process.getuid?.() !== 0 && 'only root may give files away' }, async () => {
    answers = [gives({ id_token: jwt(60) })];
    const { file, token } = open({ 'refresh-token': 'r' });
    chownSync(file, 12_345, 12_346);
    chmodSync(file, 0o660);
    await token();
    const { uid, gid, mode } = statSync(file);
    assert.deepEqual([uid, gid, mode & 0o777], [12_345, 12_346, 0o660]);
  });

  const problems: [name: string, config: object, prepare: () => void, message: RegExp][] = [
    ['no refresh-token', { 'id-token': jwt(0) }, () => {}, /its id-token has expired, and it has no refresh-token/],
    ['no tokens at all', {}, () => {}, /has no refresh-token/],
    ['an id-token that is none', { 'id-token': 'abc' }, () => {}, /its id-token is not a JWT/],
    [
      'a refusal',
      { 'refresh-token': 'r' },
      () => {
        answers = [[400, `{"error":"invalid_grant"}${'x'.repeat(99)}`]];
      },
      /its token cannot be refreshed: https:.*\/token answered 400: "\{\\"error\\":\\"invalid_grant\\"\}x{55}…"$/,
    ],
    [
      'a refusal that says what it was asked with',
      { 'refresh-token': 'r1', 'client-secret': 's3' },
      () => {
        answers = [[400, 'bad r1 of s3']];
      },
      /answered 400: "bad <hidden> of <hidden>"$/,
    ],
    [
      'a refusal with 200',
      { 'refresh-token': 'r' },
      () => {
        answers = [gives({ error: 'invalid_grant' })];
      },
      /\/token answered 200: .*invalid_grant/,
    ],
    [
      'tokens in another form, which are not shown',
      { 'refresh-token': 'r' },
      () => {
        answers = [[200, 'id_token=secret']];
      },
      /\/token answered with something else than JSON$/,
    ],
    [
      'a token endpoint without TLS',
      { 'refresh-token': 'r' },
      () => {
        discovery = [200, '{"token_endpoint":"http://127.0.0.1:1/token"}'];
      },
      /openid-configuration names a token_endpoint that is not https:\/\/$/,
    ],
    [
      'no id_token',
      { 'refresh-token': 'r' },
      () => {
        answers = [gives({ access_token: 'x' })];
      },
      /the issuer gave no id_token/,
    ],
    [
      'no discovery',
      { 'refresh-token': 'r' },
      () => {
        discovery = [404, '<html>'];
      },
      /openid-configuration answered 404: "<html>"/,
    ],
    [
      'a page for a discovery',
      { 'refresh-token': 'r' },
      () => {
        discovery = [200, '<html>'];
      },
      /openid-configuration answered with something else than JSON$/,
    ],
    [
      'another authority',
      {
        'refresh-token': 'r',
        'idp-certificate-authority-data': Buffer.from(createAuthority('x').cert).toString('base64'),
      },
      () => {},
      /its token cannot be refreshed: .*certificate/,
    ],
    ['no issuer', { 'idp-issuer-url': '' }, () => {}, /auth-provider\.config\.idp-issuer-url is missing/],
    ['a number', { 'client-id': 5 }, () => {}, /auth-provider\.config\.client-id is not a string/],
  ];
  for (const [name, config, prepare, message] of problems) {
    test(name, async () => {
      [answers, discovery] = [[], [200]];
      prepare();
      assert.match(await failure(config), message);
    });
  }

  test('other providers: gone from kubectl too, or unknown', async () => {
    assert.equal(await failure({}, { as: 'gcp' }), 'the auth-provider gcp of user "u" is no more, in kubectl either');
    assert.equal(
      await failure({}, { as: 'azure' }),
      'the auth-provider azure of user "u" is no more, in kubectl either',
    );
    assert.equal(await failure({}, { as: 'x' }), 'the auth-provider x of user "u" is not known');
  });
});
