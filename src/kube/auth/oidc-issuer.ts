/** Requests to an OpenID Connect issuer: discovery of its token endpoint, and the refresh of tokens. */
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { isObject } from '../../nodepool/json.ts';
import { proxyFromEnvironment } from '../proxy/proxy.ts';
import { newAgent } from '../proxy/proxy-agent.ts';
import type { LoginSurroundings } from './auth-info.ts';
import { isText, type Section } from './kubeconfig-file.ts';
import { publicAuthorities, readText } from './tls-material.ts';

/** The auth-provider's `config` in the kubeconfig. */
export type OidcConfig = Record<string, string>;

/** Characters of a response that an error quotes. */
const MAX_QUOTED = 80;
/** Limit of a response: tokens have a few thousand bytes. */
const MAX_BYTES = 1024 ** 2;
/** Of each request: none waits for a person. */
const DEADLINE_MS = 30_000;

interface Answer {
  status: number;
  body: string;
}

type Ask = (url: string, init?: { headers: Record<string, string>; body: string }) => Promise<Answer>;

/**
 * The token endpoint's response to a refresh (RFC 6749, 6). Throws Error without secrets, or an error of node:https.
 */
export async function issuerRequest(
  config: OidcConfig,
  refreshToken: string,
  { env, signal }: Pick<LoginSurroundings, 'env' | 'signal'>,
  deadlineMs = DEADLINE_MS,
): Promise<Section> {
  const issuer = config['idp-issuer-url'] ?? '';
  // Over http, an attacker on the path could name the endpoint that gets the refresh-token.
  if (!isHttps(issuer)) throw new Error('its idp-issuer-url is not https://');
  const ca = certificateAuthority(config);
  const ask: Ask = (url, init) => exchange(new URL(url), { ca, env, signal, deadlineMs }, init);
  const endpoint = await tokenEndpoint(issuer, ask);
  const { 'client-id': id = '', 'client-secret': secret = '' } = config;
  const refresh = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
  const headers = { ...form, Authorization: `Basic ${basic}` };
  let answer = await ask(endpoint, { headers, body: `${new URLSearchParams(refresh)}` });
  if (!isGranted(answer)) {
    // Some issuers want the client's credentials in the form. Go's oauth2 tries both, in this order.
    const who = { client_id: id, ...(secret === '' ? {} : { client_secret: secret }) };
    answer = await ask(endpoint, { headers: form, body: `${new URLSearchParams({ ...refresh, ...who })}` });
  }
  if (!isGranted(answer)) {
    const said = [refreshToken, secret].reduce(
      (text, own) => (own ? text.replaceAll(own, '<hidden>') : text),
      answer.body,
    );
    throw new Error(`${endpoint} answered ${answer.status}: ${quoted(said)}`);
  }
  return parsed(answer, endpoint);
}

function certificateAuthority(config: OidcConfig): Buffer | string | string[] {
  const { 'idp-certificate-authority-data': data, 'idp-certificate-authority': file } = config;
  if (data) return Buffer.from(data, 'base64');
  return file ? readText(file, 'idp-certificate-authority') : publicAuthorities();
}

/** OpenID Connect Discovery 1.0, 4. */
async function tokenEndpoint(issuer: string, ask: Ask): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await ask(url);
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${quoted(answer.body)}`);
  const { token_endpoint: endpoint } = parsed(answer, url);
  if (!isText(endpoint)) throw new Error(`${url} names no token_endpoint`);
  // OpenID Connect Discovery 1.0, 3. It gets the refresh-token.
  if (!isHttps(endpoint)) throw new Error(`${url} names a token_endpoint that is not https://`);
  return endpoint;
}

function isHttps(url: string): boolean {
  return URL.parse(url)?.protocol === 'https:';
}

interface Way {
  ca: Buffer | string | string[];
  env: LoginSurroundings['env'];
  signal: AbortSignal;
  deadlineMs: number;
}

/** Does not follow redirects. */
async function exchange(url: URL, { ca, env, signal, deadlineMs }: Way, init: Parameters<Ask>[1]): Promise<Answer> {
  const late = AbortSignal.timeout(deadlineMs);
  // Also with NODE_TLS_REJECT_UNAUTHORIZED=0.
  const agent = newAgent(url, proxyFromEnvironment(url, env), { ca, rejectUnauthorized: true });
  const method = init === undefined ? 'GET' : 'POST';
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const ended = AbortSignal.any([signal, late]);
      const request = https.request(url, { method, headers: init?.headers ?? {}, agent, signal: ended });
      request.on('response', resolve);
      request.on('error', reject);
      request.end(init?.body);
    });
    return { status: response.statusCode ?? 0, body: await bodyOf(response, url) };
  } catch (error) {
    if (!late.aborted) throw error;
    throw new Error(`${url.origin}${url.pathname} gave no answer within ${deadlineMs / 1000} s`, { cause: error });
  } finally {
    agent.destroy();
  }
}

async function bodyOf(answer: Readable, { origin, pathname }: URL): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`${origin}${pathname} answered with more than 1 MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Some issuers refuse with 200 and the error of RFC 6749, 5.2. */
function isGranted({ status, body }: Answer): boolean {
  return status >= 200 && status < 300 && !isText(sectionIn(body)?.error);
}

function parsed({ body }: Answer, url: string): Section {
  const section = sectionIn(body);
  // The body is not quoted: it may be tokens in another format.
  if (section === undefined) throw new Error(`${url} answered with something else than JSON`);
  return section;
}

function sectionIn(json: string): Section | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function quoted(body: string): string {
  return JSON.stringify(body.length > MAX_QUOTED ? `${body.slice(0, MAX_QUOTED)}…` : body);
}
