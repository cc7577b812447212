/**
 * A dynamic client: get, list, create, patch and delete of any resource. Expected refusals are values; all others throw
 * NodepoolError. The typed clients (one file for each resource) use it.
 */

import type { V1DeleteOptions, V1Eviction } from '@kubernetes/client-node';
import { collectGarbage } from '../../controller/collect.ts';
import { ContinueTokens } from '../../controller/continue-tokens.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined, isObject, parsedJson } from '../../nodepool/json.ts';
import { FIELD_MANAGER } from '../../nodepool/managed-fields.ts';
import { decodeEnvelope, UnknownFieldError } from '../protobuf/objects.ts';
import type { Query, Request } from '../transport/request.ts';
import type { ApiResponse } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import { endlessList, noApiServer, type RequestInfo, refusal } from './errors.ts';
import { askPage, PAGE_SIZE, UnreadableError, unreadable, type WirePage } from './page.ts';
import { acceptOf, inJson, pathOf, type Resource } from './resource.ts';
import { checkRequired, checkShape } from './shape.ts';
import { isConflict, isMissingNamespace, isMissingObject, parseStatus } from './status.ts';

export const MERGE_PATCH = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';

/** Items in later pages of a protobuf list, which are not kept whole. */
const LATER_PAGE_SIZE = '2000';

/** The query parameters of a write; client-node drops all others. */
export type WriteQuery = {
  dryRun?: 'All';
  fieldManager?: string;
  fieldValidation?: 'Strict';
  force?: 'true';
};

/** The rest of the path comes from the resource. */
export type WriteRequest =
  | { method: 'POST'; body: unknown; query?: WriteQuery; name?: never; subresource?: never }
  | {
      method: 'PATCH';
      body: unknown;
      query?: WriteQuery;
      name: string;
      subresource?: 'status';
      contentType: string;
    }
  // A delete has its dryRun in the body.
  | { method: 'DELETE'; body: V1DeleteOptions; query?: never; name: string; subresource?: never }
  | PodEviction;
/** `name` is the name of the pod. */
type PodEviction = { method: 'POST'; body: V1Eviction; query?: WriteQuery; name: string; subresource: 'eviction' };
/** Options for Transport. */
export type SendOptions = Pick<
  Request,
  'accept' | 'replayable' | 'urgent' | 'deadlineMs' | 'tooManyIsAnswer' | 'isSecret'
>;

export type PatchRequest = {
  contentType: string;
  body: unknown;
  /** Default: writeQuery(). */
  query?: WriteQuery;
  subresource?: 'status';
  replayable: boolean;
};
/** `gone` for a subresource: the object does not exist, or the server does not serve the subresource. */
export type PatchResult<T> = { kind: 'written'; object: T; created: boolean } | { kind: 'conflict' } | { kind: 'gone' };

export class Api {
  readonly #transport: Transport;
  readonly #now: () => Date;
  /** Whether the server only validates the writes of this client. */
  readonly dryRun: boolean;

  /** @param now the wall clock, for certificates, and for serverTime() before the first response */
  constructor(transport: Transport, now: () => Date, dryRun = false) {
    this.#transport = transport;
    this.#now = now;
    this.dryRun = dryRun;
  }

  /** For a write whose fields we own. @param isTrial the server only validates it, even if `dryRun` is false */
  writeQuery(isTrial = false): WriteQuery {
    return { ...(isTrial ? { dryRun: 'All' } : {}), fieldManager: FIELD_MANAGER };
  }

  /** The server's clock at its last response; the local clock before the first response. */
  serverTime(): Date {
    return this.#transport.serverTime() ?? this.#now();
  }

  /** Undefined if the object does not exist. Throws if the resource is not served. */
  async get<T>(resource: Resource, name: string): Promise<T | undefined> {
    const answer = await this.#transport.request({ path: pathOf(resource, name), accept: acceptOf(resource) });
    if (isMissingObject(answer, resource, name)) return undefined;
    const read = this.#body<T>({ verb: 'get', resource, name }, answer);
    return read.catch(whenUnknown(() => this.get<T>(inJson(resource), name)));
  }

  /** Lists in pages, one ahead. @param onRestart resets the state of `map` @param most the maximum number of items */
  async list<Item, T>(
    resource: Resource,
    map: (item: Item) => T | undefined,
    query: Query = {},
    onRestart = () => {},
    most = Infinity,
  ): Promise<T[]> {
    const items: T[] = [];
    let form = resource;
    const ask = (token?: string, limit = PAGE_SIZE) => {
      const part = { ...query, limit, continue: token };
      return askPage(this.#transport, form, part, item => map(item as Item));
    };
    let page = ask();
    const tokens = new ContinueTokens();
    for (;;) {
      const ahead = page.next.then(token =>
        token === undefined || tokens.isRepeat(token) ? undefined : ask(token, LATER_PAGE_SIZE),
      );
      const { answer, page: read, isUnknown = false } = await page.answered.catch(this.#unreadable);
      if (isUnknown) form = inJson(form);
      if (tokens.restart(answer.status)) {
        items.length = 0;
        onRestart();
        page = ask();
        continue;
      }
      const { items: found, metadata } = read ?? (await this.#body<WirePage>({ verb: 'list', resource }, answer));
      for (const item of read === undefined ? this.#objects(resource, found) : (found as unknown[])) {
        const kept = read === undefined ? map(item as Item) : (item as T);
        if (kept !== undefined) items.push(kept);
      }
      if (!metadata?.continue || items.length >= most) {
        // Otherwise the garbage of a long list stays in memory next to the caller's results.
        if (tokens.areUsed) collectGarbage();
        return items.slice(0, most);
      }
      if (tokens.isRepeat(metadata.continue)) throw endlessList(resource, this.#transport.access);
      tokens.use(metadata.continue);
      page = (await ahead) ?? ask(metadata.continue);
    }
  }

  /** `exists` if the name is taken. */
  async create<T>(
    resource: Resource,
    body: unknown,
    name: string,
    { query = this.writeQuery(), replayable = false }: Partial<Pick<PatchRequest, 'query' | 'replayable'>> = {},
  ): Promise<{ kind: 'created'; object: T } | { kind: 'exists' }> {
    const answer = await this.write(resource, { method: 'POST', body, query }, { replayable });
    if (answer.status === 409 && parseStatus(answer.text)?.reason === 'AlreadyExists') return { kind: 'exists' };
    return { kind: 'created', object: await this.#body<T>({ verb: 'create', resource, name }, answer, true) };
  }

  async patch<T>(
    resource: Resource,
    name: string,
    { replayable, query = this.writeQuery(), ...request }: PatchRequest,
  ): Promise<PatchResult<T>> {
    // The result of a dry run cannot be read again as JSON if protobuf has an unknown field.
    const isDry = this.dryRun || query.dryRun !== undefined;
    const accept = acceptOf(isDry ? inJson(resource) : resource);
    const answer = await this.write(resource, { method: 'PATCH', name, query, ...request }, { accept, replayable });
    if (isConflict(answer)) return { kind: 'conflict' };
    if (isMissingObject(answer, resource, name) || isMissingNamespace(answer, resource)) return { kind: 'gone' };
    const info: RequestInfo = { verb: 'patch', resource, name, ...defined({ subresource: request.subresource }) };
    const read = this.#body<T>(info, answer);
    const object = await read.catch(whenUnknown(() => this.get<T>(inJson(resource), name)));
    return object === undefined ? { kind: 'gone' } : { kind: 'written', object, created: answer.status === 201 };
  }

  /** Server-side apply with force: takes over fields of other managers. Returns the same as patch(). */
  apply<T>(resource: Resource, name: string, body: unknown): Promise<PatchResult<T>> {
    const query: WriteQuery = { ...this.writeQuery(), force: 'true', fieldValidation: 'Strict' };
    return this.patch(resource, name, { contentType: APPLY_PATCH, body, query, replayable: true });
  }

  /** The UID, if given, is a precondition. `marked`: the object stays until its finalizers are removed. */
  async delete(
    resource: Resource,
    { name, uid }: { name: string; uid?: string },
  ): Promise<'deleted' | 'marked' | 'conflict' | 'gone'> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    };
    const answer = await this.write(resource, { method: 'DELETE', name, body }, { replayable: true });
    if (isConflict(answer)) return 'conflict';
    if (isMissingObject(answer, resource, name)) return 'gone';
    const object = await this.#body<{ metadata?: { finalizers?: string[] } }>(
      { verb: 'delete', resource, name },
      answer,
    );
    return (object.metadata?.finalizers ?? []).length > 0 ? 'marked' : 'deleted';
  }

  /** Sends a write, as a dry run if `dryRun` is set. Resolves with any response. Loads client-node if needed. */
  async write(resource: Resource, requested: WriteRequest, sending: SendOptions): Promise<ApiResponse> {
    const write = this.dryRun ? asDryRun(requested) : requested;
    if (resource.group === '' || write.subresource === 'eviction') {
      const { name, subresource, ...request } = write;
      return this.#transport.request({ path: pathOf(resource, name, subresource), ...request, ...sending });
    }
    const { writeCustomObject } = await import('./client-node.ts');
    return writeCustomObject(this.#transport, resource, write, sending);
  }

  /** Sends a review and parses the response. @param name what the review is about, for errors */
  async review<T>(resource: Resource, spec: object, name: string): Promise<T> {
    return this.#body<T>({ verb: 'create', resource, name }, await this.sendReview(resource, spec));
  }

  /** Sends a review. The server never stores it, so it needs no dry run. Resolves with any response. */
  async sendReview(resource: Resource, spec?: object, sending: SendOptions = {}): Promise<ApiResponse> {
    const { group, version, kind } = resource;
    if (!resource.plural.endsWith('reviews')) throw new Error(`${kind} is not a review`);
    const body = { apiVersion: `${group}/${version}`, kind, ...defined({ spec }) };
    return this.#transport.request({ method: 'POST', path: pathOf(resource), body, replayable: true, ...sending });
  }

  /** Whether the server serves the resource. Throws on any error other than 404. */
  async isServed(resource: Resource): Promise<boolean> {
    const answer = await this.#transport.request({ path: pathOf(resource), query: { limit: '1' } });
    if (answer.status === 404) return false;
    await this.#body({ verb: 'list', resource }, answer);
    return true;
  }

  /**
   * Throws if the server does not serve the resource's group. Uses discovery, which every authenticated user may read.
   */
  async assertServed(resource: Resource): Promise<void> {
    const answer = await this.#transport.request({ path: `/apis/${resource.group}/${resource.version}` });
    if (answer.status === 404) await this.#body({ verb: 'list', resource }, answer);
  }

  /** The server's git version, as `v1.36.3`. */
  async serverVersion(): Promise<string> {
    return (await this.read<{ gitVersion: string }>('/version', 'the version')).gitVersion;
  }

  /** `version` is missing if this user may not read it. */
  async serverFacts(): Promise<ServerFacts> {
    const { status, text, headers } = await this.#transport.request({ path: '/version' });
    const time = new Date(headers.date ?? '');
    return {
      ...(status === 200 ? versionIn(text) : {}),
      ...(Number.isNaN(time.getTime()) ? {} : { time }),
    };
  }

  /** Reads a path that is not an object. @param what the content, for errors */
  async read<T>(path: string, what: string, accept = 'application/json'): Promise<T> {
    const answer = await this.#transport.request({ path, accept });
    return this.#body<T>({ verb: 'get', resource: { group: '', version: '', plural: what, kind: what } }, answer);
  }

  /** The object in a successful response. */
  object<T>(resource: Resource, { text }: ApiResponse): T {
    const object = this.#parse(text);
    this.#checkShape(resource, object);
    return object as T;
  }

  refusal(request: RequestInfo, answer: ApiResponse): NodepoolError {
    return refusal(request, answer, this.#transport, this.#now());
  }

  /** A 200 without an object comes from a login page, a proxy or a wrong port, not from an API server. */
  #parse(text: string): Record<string, unknown> {
    const body = parsedJson(text);
    if (isObject(body) && (isObject(body.metadata) || typeof body.gitVersion === 'string')) return body;
    throw noApiServer(this.#transport.access);
  }

  /** Throws if the items of a list are not objects with metadata. */
  #objects(resource: Resource, items: unknown): unknown[] {
    const objects: unknown = items ?? [];
    if (!Array.isArray(objects) || !objects.every(item => isObject(item) && isObject(item.metadata))) {
      throw noApiServer(this.#transport.access);
    }
    for (const item of objects) this.#checkShape(resource, item, true);
    return objects;
  }

  #checkShape(resource: Resource, object: Record<string, unknown>, isWhole = false): void {
    try {
      checkShape(object, resource.group);
      if (isWhole) checkRequired(object, resource.kind);
    } catch (error) {
      this.#unreadable(unreadable(error));
    }
  }

  /** Rethrows an error; an UnreadableError as NodepoolError. */
  readonly #unreadable = (cause: unknown): never => {
    if (!(cause instanceof UnreadableError)) throw cause;
    const problem = `cannot read the answer of ${this.#transport.access.cluster.server}: ${cause.message}`;
    const next = 'try again; if the error persists, check for a proxy that truncates or changes answers';
    throw new NodepoolError('cluster', problem, next, { cause });
  };

  /** @param isWhole the object must have a name, and the other required fields of its kind */
  async #body<T>(
    request: RequestInfo,
    answer: ApiResponse,
    isWhole = request.name !== undefined && (request.verb === 'get' || request.verb === 'patch'),
  ): Promise<T> {
    const { protobuf } = answer;
    const { decode } = request.resource;
    if (protobuf !== undefined && decode !== undefined) {
      try {
        return decodeEnvelope(protobuf, decode) as T;
      } catch (error) {
        return this.#unreadable(unreadable(error));
      }
    }
    let { status } = answer;
    if (status >= 200 && status < 300) {
      const body = this.#parse(answer.text);
      if (body.kind !== 'Status' || body.status !== 'Failure') {
        // The items of a list are checked one by one.
        if (body.kind !== 'Status' && request.verb !== 'list') this.#checkShape(request.resource, body, isWhole);
        return body as T;
      }
      // A proxy may have changed the HTTP status.
      status = typeof body.code === 'number' ? body.code : 500;
    }
    throw this.refusal(request, { ...answer, status });
  }
}

/** Handles UnknownFieldError by reading the object again as JSON. */
function whenUnknown<T>(readAgain: () => Promise<T>): (error: unknown) => Promise<T> {
  return error => {
    if (!(error instanceof UnknownFieldError)) throw error;
    return readAgain();
  };
}

function versionIn(text: string): Pick<ServerFacts, 'version'> {
  const body = parsedJson(text);
  return isObject(body) && typeof body.gitVersion === 'string' ? { version: body.gitVersion } : {};
}

/** What the server reports about itself. */
export interface ServerFacts {
  /** For example `v1.36.3`. */
  version?: string;
  /** The server's clock, to the second. */
  time?: Date;
}

function asDryRun(write: WriteRequest): WriteRequest {
  // If a delete has a body, the server ignores dryRun in the query: the delete would be real.
  if (write.method === 'DELETE') return { ...write, body: { ...write.body, dryRun: ['All'] } };
  const query: WriteQuery = { dryRun: 'All', ...write.query };
  if (write.subresource !== 'eviction') return { ...write, query };
  // The eviction registry reads dryRun from the body, webhooks get the one of the query.
  const deleteOptions = { ...write.body.deleteOptions, dryRun: ['All'] };
  return { ...write, query, body: { ...write.body, deleteOptions } };
}
