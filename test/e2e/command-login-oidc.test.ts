/** The auth-provider oidc on a real kube-apiserver that trusts an issuer of the test, compared with kubectl. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { load } from 'js-yaml';
import { createAuthority, serverCertificate } from '../cluster/certificates.ts';
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { writeKubeconfig } from './login-files.ts';

const authority = createAuthority('issuer');
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const refreshes: string[] = [];
let cluster: ControlPlane | undefined;
let folder = '';

const server = https.createServer(
  serverCertificate(authority, ['127.0.0.1', 'localhost']),
  async (request, response) => {
    const answer = (body: object, status = 200) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    switch (request.url) {
      case '/.well-known/openid-configuration':
        return answer({
          issuer: issuer(),
          jwks_uri: `${issuer()}/keys`,
          token_endpoint: `${issuer()}/token`,
          authorization_endpoint: `${issuer()}/auth`,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        });
      case '/keys':
        return answer({ keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: keyId() }] });
      case '/token': {
        const old = new URLSearchParams(await text(request)).get('refresh_token') ?? '';
        refreshes.push(old);
        // Each refresh-token is valid once.
        if (old !== `refresh-${refreshes.length}`) return answer({ error: 'invalid_grant' }, 400);
        return answer({
          id_token: idToken(3600),
          refresh_token: `refresh-${refreshes.length + 1}`,
          token_type: 'Bearer',
          access_token: 'x',
        });
      }
      default:
        return answer({}, 404);
    }
  },
);

const issuer = () => `https://localhost:${(server.address() as AddressInfo).port}`;
const keyId = () =>
  createHash('sha256')
    .update(publicKey.export({ format: 'pem', type: 'spki' }))
    .digest('hex');

function idToken(seconds: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer(), aud: 'kube', sub: 'dora', groups: ['admins'], iat: now - 60, exp: now + seconds };
  const content = `${part({ alg: 'RS256', kid: keyId() })}.${part(claims)}`;
  return `${content}.${sign('sha256', Buffer.from(content), privateKey).toString('base64url')}`;
}

before(
  async () => {
    await new Promise<void>(resolve => server.listen(0, 'localhost', resolve));
    folder = await mkdtemp(join(tmpdir(), 'issuer-'));
    const ca = join(folder, 'ca.crt');
    await writeFile(ca, authority.cert);
    cluster = await startControlPlane({
      apiserverFlags: [
        `--oidc-issuer-url=${issuer()}`,
        '--oidc-client-id=kube',
        '--oidc-groups-claim=groups',
        '--oidc-username-prefix=-',
        `--oidc-ca-file=${ca}`,
      ],
    });
  },
  { timeout: 900_000 },
);
after(async () => {
  await cluster?.stop();
  server.close();
  server.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
});

test('renews an expired id-token and writes it back, for later runs and for kubectl', async () => {
  assert.ok(cluster);
  const started = cluster;
  for (const args of [
    ['create', 'clusterrolebinding', 'admins', '--clusterrole=cluster-admin', '--group=admins'],
    ['nodepool', 'install'],
  ]) {
    const { code, stderr } = await kubectl(started, args);
    assert.equal(code, 0, stderr);
  }
  const config = {
    'idp-issuer-url': issuer(),
    'idp-certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
    'client-id': 'kube',
    'id-token': idToken(-5),
    'refresh-token': 'refresh-1',
  };
  const kubeconfig = await writeKubeconfig(started, { 'auth-provider': { name: 'oidc', config } });
  const env = { KUBECONFIG: kubeconfig };
  // The API server fetches the keys of the issuer after it has started.
  let first = await cli(started, ['get'], { env });
  for (let tries = 0; first.code !== 0 && tries < 20; tries++) {
    await new Promise(resolve => setTimeout(resolve, 500));
    first = await cli(started, ['get'], { env });
  }
  assert.equal(first.code, 0, first.stderr);
  const written = load(await readFile(kubeconfig, 'utf8')) as {
    users: [{ user: { 'auth-provider': { config: Record<string, string> } } }];
  };
  const kept = written.users[0].user['auth-provider'].config;
  assert.equal(kept['refresh-token'], 'refresh-2');
  const again = await cli(started, ['get'], { env });
  assert.equal(again.code, 0, again.stderr);
  const whoami = await kubectl(started, ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], { env });
  assert.equal(whoami.stdout, 'dora', whoami.stderr);
  assert.deepEqual(refreshes, ['refresh-1']);
  // The product reads what kubectl wrote back.
  await writeFile(kubeconfig, (await readFile(kubeconfig, 'utf8')).replace(kept['id-token'] ?? '-', idToken(-5)));
  for (const run of [() => kubectl(started, ['get', 'nodes'], { env }), () => cli(started, ['get'], { env })]) {
    const { code, stderr } = await run();
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(refreshes, ['refresh-1', 'refresh-2']);
  // An issuer with a CA that the system trusts.
  const { 'idp-certificate-authority-data': _, ...known } = { ...config, 'refresh-token': 'refresh-3' };
  const machine = {
    KUBECONFIG: await writeKubeconfig(started, { 'auth-provider': { name: 'oidc', config: known } }),
    SSL_CERT_FILE: join(folder, 'ca.crt'),
  };
  const { code, stderr } = await cli(started, ['get'], { env: machine });
  assert.equal(code, 0, stderr);
  assert.deepEqual(refreshes, ['refresh-1', 'refresh-2', 'refresh-3']);
});
