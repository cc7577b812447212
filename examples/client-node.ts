/**
 * The Source of a Reflector on @kubernetes/client-node. KubeConfig gives the server and the credentials, the API
 * classes read and write. node:https sends all requests, because client-node alone
 * - opens a connection for each call and sets no deadline: here connections are kept, and a call ends after 30 s;
 * - keeps a token that the server refuses until it expires: here a 401 loads the kubeconfig again;
 * - turns times into Dates and drops unknown fields: here lists and watches are the JSON that the server sent;
 * - skips lines of a watch that it cannot parse, and hides why a watch was refused, and its Retry-After;
 * - puts all headers into the message of an ApiException: here calls throw Refused;
 * - ignores HTTPS_PROXY and NO_PROXY: here they count where the kubeconfig has no proxy-url.
 */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import * as k8s from '@kubernetes/client-node';
import { messageOf } from '../src/controller/log.ts';
import { broken, type Failure, type Source } from '../src/controller/source.ts';
import { proxyAgents } from './proxy.ts';

const CALL_MS = 30_000;
/** Without this type, API classes send a JSON patch. */
export const MERGE_PATCH = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch);

export class Refused extends Error {
  readonly failure: Extract<Failure, { kind: 'refused' }>;

  constructor({ statusCode: status = 0, headers }: IncomingMessage, body: string) {
    const message = reasonOf(body);
    super(`the server answered ${status}: ${message}`);
    const seconds = Number(headers['retry-after'] ?? Number.NaN);
    this.failure = { kind: 'refused', status, message, retryAfterMs: seconds >= 0 ? seconds * 1000 : undefined };
  }
}

export class Connection {
  readonly #load: () => k8s.KubeConfig;
  readonly #userAgent: string;
  readonly #trace: (line: string) => void;
  readonly #proxyAgent = proxyAgents(process.env);
  #config: k8s.KubeConfig | undefined;

  /** @param trace gets a line per response */
  constructor(load: () => k8s.KubeConfig, userAgent: string, trace: (line: string) => void = () => {}) {
    this.#load = load;
    this.#config = load();
    this.#userAgent = userAgent;
    this.#trace = trace;
  }

  /** KubeConfig.makeApiClient() over this connection. */
  client<T extends k8s.ApiType>(api: k8s.ApiConstructor<T>): T {
    const baseServer = new k8s.ServerConfiguration(this.#cluster().server, {});
    const httpApi = k8s.wrapHttpLibrary({ send: request => this.#call(request) });
    return new api(k8s.createConfiguration({ baseServer, httpApi }));
  }

  /** Resolves with the head of a 200 response; rejects with Refused or an error of node:https. */
  get(path: string, query: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#send(`${this.#cluster().server}${path}?${new URLSearchParams(query)}`, { signal });
  }

  async #call(request: k8s.RequestContext): Promise<k8s.ResponseContext> {
    const [method, headers, signal] = [request.getHttpMethod(), request.getHeaders(), AbortSignal.timeout(CALL_MS)];
    const response = await this.#send(request.getUrl(), { method, headers, signal }, request.getBody()?.toString());
    const body = new k8s.SelfDecodingBody(text(response).then(Buffer.from));
    const { 'content-type': type = '' } = response.headers;
    return new k8s.ResponseContext(response.statusCode ?? 0, { 'content-type': type }, body);
  }

  async #send(url: string, { signal, ...asked }: RequestOptions & { signal: AbortSignal }, body?: string) {
    this.#config ??= this.#load();
    const config = this.#config;
    const options: RequestOptions = { ...asked, signal, headers: { ...asked.headers, 'User-Agent': this.#userAgent } };
    // An exec plugin may hang; an aborted request is not sent.
    await Promise.race([config.applyToHTTPSOptions(options), once(signal, 'abort')]);
    // Node's agents keep connections, and open others when a certificate changes; KubeConfig's do neither.
    if (!this.#cluster().proxyUrl) options.agent = this.#proxyAgent(url);
    const { request } = url.startsWith('http:') ? http : https;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, options).on('response', resolve).on('error', reject).end(body);
    });
    const { statusCode: status = 0 } = response;
    this.#trace(`${options.method ?? 'GET'} ${url} ${status}`);
    if (status === 401 && this.#config === config) this.#config = undefined;
    if (status < 200 || status > 299) throw new Refused(response, await text(response));
    return response;
  }

  #cluster(): k8s.Cluster {
    this.#config ??= this.#load();
    const cluster = this.#config.getCurrentCluster();
    if (cluster === null) throw new Error('the current context of the kubeconfig names no cluster');
    return cluster;
  }
}

/** Lists and watches a path such as `/apis/apps/v1/deployments`, with a query such as `{ labelSelector }`. */
export function listWatch(connection: Connection, path: string, query: Record<string, string> = {}): Source {
  return {
    async list({ limit, continue: token, signal }) {
      const part = { ...query, limit: String(limit), ...(token === undefined ? {} : { continue: token }) };
      try {
        const { items, metadata } = JSON.parse(await text(await connection.get(path, part, signal)));
        if (!metadata?.resourceVersion) return broken('the answer is not a list');
        const { resourceVersion, continue: next } = metadata;
        return { kind: 'page', items: items ?? [], resourceVersion, continue: next || undefined };
      } catch (error) {
        return toFailure(error);
      }
    },

    async watch({ resourceVersion, initialEvents, timeoutSeconds, signal, onOpen }, onLine) {
      const part = { ...query, watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(timeoutSeconds) };
      const all = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
      const from = { ...(initialEvents ? all : {}), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      try {
        const response = await connection.get(path, { ...part, ...from }, signal);
        onOpen?.();
        let rest = '';
        for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
          const lines = chunk.split('\n');
          lines[0] = rest + lines[0];
          rest = lines.pop() ?? '';
          for (const line of lines) onLine(JSON.parse(line));
        }
        return rest === '' ? { kind: 'ended' } : broken('the watch broke off inside a line');
      } catch (error) {
        return toFailure(error);
      }
    },
  };
}

function toFailure(error: unknown): Failure {
  return error instanceof Refused ? error.failure : broken(messageOf(error));
}

function reasonOf(body: string): string {
  try {
    return JSON.parse(body).message ?? 'no reason given';
  } catch {
    return body.trim().split('\n', 1)[0] || 'no reason given';
  }
}
