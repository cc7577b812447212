/** An OIDC issuer on a real HTTPS server, and kubeconfigs with an auth-provider for it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before } from 'node:test';
import { load } from 'js-yaml';
import { readKubeconfigFile } from '../../../../src/kube/auth/kubeconfig-file.ts';
import { authProviderOf } from '../../../../src/kube/auth/oidc.ts';
import { createAuthority, serverCertificate } from '../../../cluster/certificates.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'oidc-'));
after(() => rmSync(folder, { recursive: true }));

const authority = createAuthority('issuer');
const NOW = Date.parse('2030-01-01T00:00:00Z');
let files = 0;

type Answer = [status: number, body: string, headers?: Record<string, string>];

/** The responses of the issuer, and the requests it got. */
export const issuer: {
  asked: string[];
  /** The responses of the token endpoint, one after the other; the last one is repeated. */
  answers: Answer[];
  discovery: [status: number, body?: string, headers?: Record<string, string>];
  /** Runs before each response, as another process would. */
  during: ((isDiscovery: boolean) => void) | undefined;
} = { asked: [], answers: [], discovery: [200], during: undefined };

/** A token that expires so many seconds after now. */
export function jwt(seconds: number, id = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: NOW / 1000 + seconds, id })}.x`;
}

export const gives = (body: object, status = 200): [number, string] => [status, JSON.stringify(body)];

const server = https.createServer(serverCertificate(authority, ['127.0.0.1']), async (request, response) => {
  const { method, url, headers } = request;
  const who = Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  const body = await text(request);
  const { asked, answers, discovery } = issuer;
  asked.push([method, url, who, body].filter(Boolean).join(' '));
  const isDiscovery = url === '/realm/.well-known/openid-configuration';
  const own = JSON.stringify({ token_endpoint: `${origin()}/token` });
  issuer.during?.(isDiscovery);
  const next = () => (answers.length > 1 ? answers.shift() : answers[0]) ?? [404, ''];
  const [status, answer = own, more = {}] = isDiscovery ? discovery : next();
  response.writeHead(status, more).end(answer);
});
const origin = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
before(() => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)));
after(() => {
  server.close();
  server.closeAllConnections();
});

/** Writes a kubeconfig with this auth-provider config, and loads the provider. Resets issuer.during. */
export function open(config: object, { as = 'oidc' }: { as?: string } = {}) {
  issuer.asked.length = 0;
  issuer.during = undefined;
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
  /** Changes the kubeconfig as another process would. */
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
    token: async () => (await provider.authInfo({ refused: false })).authorization,
  };
}
