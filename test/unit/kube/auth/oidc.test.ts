/** The auth-provider oidc and the responses of an issuer. */
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { issuerRequest } from '../../../../src/kube/auth/oidc.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { createAuthority } from '../../../cluster/certificates.ts';
import { gives, issuer, jwt, open } from './oidc-issuer.ts';

async function failure(config: object, options?: { as: string }): Promise<string> {
  try {
    await open(config, options).token();
  } catch (error) {
    assert.ok(error instanceof NodepoolError, String(error));
    return error.message;
  }
  return assert.fail('it was accepted');
}

test('uses a valid id-token without a request', async () => {
  const token = jwt(11);
  assert.equal(await open({ 'id-token': token }).token(), `Bearer ${token}`);
  assert.deepEqual(issuer.asked, []);
});

test('renews an id-token that has expired, or expires within 10 s, once, and writes back only the tokens', async () => {
  const next = jwt(3600);
  issuer.answers = [gives({ id_token: next, refresh_token: 'second', access_token: 'x' })];
  const { file, root, config, written, token } = open({ 'id-token': jwt(10), 'refresh-token': 'first' });
  assert.deepEqual([await token(), await token()], [`Bearer ${next}`, `Bearer ${next}`]);
  assert.deepEqual(issuer.asked, [
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

test('sends the client credentials in the form to an issuer that requires it', async () => {
  const next = jwt(60);
  issuer.answers = [gives({ error: 'invalid_client' }, 401), gives({ id_token: next })];
  const { token, written } = open({ 'refresh-token': 'r' });
  assert.equal(await token(), `Bearer ${next}`);
  assert.equal(
    issuer.asked[2],
    'POST /token grant_type=refresh_token&refresh_token=r&client_id=kube&client_secret=a+b',
  );
  assert.match(JSON.stringify(written()), /"refresh-token":"r"/);
});

const problems: [name: string, config: object, prepare: () => void, message: RegExp][] = [
  ['no refresh-token', { 'id-token': jwt(0) }, () => {}, /its id-token has expired, and it has no refresh-token/],
  ['no tokens at all', {}, () => {}, /has no refresh-token/],
  ['an invalid id-token', { 'id-token': 'abc' }, () => {}, /its id-token is not a JWT/],
  [
    'a refusal',
    { 'refresh-token': 'token-1' },
    () => {
      issuer.answers = [[400, `{"error":"invalid_grant"}${'x'.repeat(99)}`]];
    },
    /its token cannot be refreshed: https:.*\/token answered 400: "\{\\"error\\":\\"invalid_grant\\"\}x{55}…"$/,
  ],
  [
    'a refusal that quotes the request',
    { 'refresh-token': 'r1', 'client-secret': 's3' },
    () => {
      issuer.answers = [[400, 'bad r1 of s3']];
    },
    /answered 400: "bad <hidden> of <hidden>"$/,
  ],
  [
    'a refusal with 200',
    { 'refresh-token': 'token-1' },
    () => {
      issuer.answers = [gives({ error: 'invalid_grant' })];
    },
    /\/token answered 200: .*invalid_grant/,
  ],
  [
    'tokens in another form, which are not shown',
    { 'refresh-token': 'r' },
    () => {
      issuer.answers = [[200, 'id_token=secret']];
    },
    /\/token answered with something other than JSON$/,
  ],
  [
    'a token endpoint without TLS',
    { 'refresh-token': 'r' },
    () => {
      issuer.discovery = [200, '{"token_endpoint":"http://127.0.0.1:1/token"}'];
    },
    /openid-configuration names a token_endpoint that is not https:\/\/$/,
  ],
  [
    'an issuer without TLS, which gets no request',
    { 'refresh-token': 'r', 'idp-issuer-url': 'http://127.0.0.1:1/realm' },
    () => {},
    /its token cannot be refreshed: its idp-issuer-url is not https:\/\/$/,
  ],
  [
    'an issuer that redirects its discovery',
    { 'refresh-token': 'r' },
    () => {
      issuer.discovery = [302, '', { location: 'http://127.0.0.1:1/' }];
    },
    /openid-configuration answered 302: ""$/,
  ],
  [
    'a token endpoint that redirects, keeping method and body',
    { 'refresh-token': 'r' },
    () => {
      issuer.answers = [[307, '', { location: 'http://127.0.0.1:1/' }]];
    },
    /\/token answered 307: ""$/,
  ],
  [
    'an endless discovery',
    { 'refresh-token': 'r' },
    () => {
      issuer.discovery = [200, 'x'.repeat(1024 ** 2 + 1)];
    },
    /openid-configuration answered with more than 1 MiB$/,
  ],
  [
    'an endless response',
    { 'refresh-token': 'r' },
    () => {
      issuer.answers = [[200, 'x'.repeat(1024 ** 2 + 1)]];
    },
    /\/token answered with more than 1 MiB$/,
  ],
  [
    'no id_token',
    { 'refresh-token': 'r' },
    () => {
      issuer.answers = [gives({ access_token: 'x' })];
    },
    /the issuer gave no id_token/,
  ],
  [
    'no discovery',
    { 'refresh-token': 'r' },
    () => {
      issuer.discovery = [404, '<html>'];
    },
    /openid-configuration answered 404: "<html>"/,
  ],
  [
    'an HTML page instead of a discovery',
    { 'refresh-token': 'r' },
    () => {
      issuer.discovery = [200, '<html>'];
    },
    /openid-configuration answered with something other than JSON$/,
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
    issuer.answers = [];
    issuer.discovery = [200];
    prepare();
    assert.match(await failure(config), message);
  });
}

test('checks certificates even if Node is told not to', async () => {
  const data = Buffer.from(createAuthority('x').cert).toString('base64');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    const said = await failure({ 'refresh-token': 'r', 'idp-certificate-authority-data': data });
    assert.match(said, /its token cannot be refreshed: .*certificate/);
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
});

test('limits the wait for a silent issuer', async () => {
  const silent = createServer();
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
  const origin = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const surroundings = { env: {}, signal: new AbortController().signal };
  await assert.rejects(issuerRequest({ 'idp-issuer-url': origin, 'client-id': 'c' }, 'r', surroundings, 100), {
    message: `${origin}/.well-known/openid-configuration gave no answer within 0.1 s`,
  });
  silent.close();
});

test('refuses auth-providers that kubectl removed or does not know', async () => {
  assert.equal(
    await failure({}, { as: 'gcp' }),
    'the auth-provider gcp of user "u" is no longer supported, as in kubectl',
  );
  assert.equal(
    await failure({}, { as: 'azure' }),
    'the auth-provider azure of user "u" is no longer supported, as in kubectl',
  );
  assert.equal(await failure({}, { as: 'x' }), 'the auth-provider x of user "u" is unknown');
});
