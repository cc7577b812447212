/** Errors for requests that the server refused, each with a next step. */
import { ForbiddenError, NodepoolError } from '../../nodepool/errors.ts';
import { isPoolField } from '../../nodepool/spec/schema.ts';
import { addressPlace, type ClusterAccess } from '../auth/kubeconfig.ts';
import type { ApiResponse } from '../transport/response.ts';
import { NODE_POOLS, qualifiedName, type Resource } from './resource.ts';
import { isMissingObject, parseStatus, policyRefusal, reasonOf, type Status } from './status.ts';

export interface RequestInfo {
  /** The RBAC verb: get, list, create, patch, delete. */
  verb: string;
  resource: Resource;
  name?: string;
  subresource?: string;
}

/** @param connection `certificateEnds`: notAfter of the client certificate, called after a 401 */
export function refusal(
  request: RequestInfo,
  answer: ApiResponse,
  connection: { access: ClusterAccess; certificateEnds: Date | undefined },
  now: Date,
): NodepoolError {
  const { access } = connection;
  const status = parseStatus(answer.text);
  const part = request.subresource === undefined ? '' : `the ${request.subresource} of `;
  const subject =
    part + (request.name === undefined ? request.resource.plural : `${request.resource.kind} "${request.name}"`);
  const cannot = `cannot ${request.verb} ${subject}`;
  const reason = reasonOf(answer, status);
  const { server } = access.cluster;
  if (isForeign(answer, status)) return noApiServer(access, answer);
  const refused = status && policyRefusal(cannot, status.message);
  if (refused !== undefined) return refused;
  switch (answer.status) {
    case 400:
      return unknownFields(request.resource, cannot, reason) ?? new NodepoolError('input', `${cannot}: ${reason}`);
    case 401:
      return unauthorized(access, connection.certificateEnds, now);
    case 403:
      return forbidden(request, cannot, reason, access);
    case 404:
      return notFound(request, answer, status, subject, server, cannot);
    case 409:
      return status?.reason === 'AlreadyExists'
        ? new NodepoolError('cluster', `${subject} already exists`, 'use another name')
        : new NodepoolError(
            'cluster',
            `${cannot}: the object has been modified by somebody else`,
            'run the command again',
          );
    case 422:
      return unknownFields(request.resource, cannot, reason) ?? invalid(cannot, status, reason);
    case 429:
    case 503:
      return new NodepoolError(
        'cluster',
        `${cannot}: the server ${server} is overloaded or not ready (${answer.status}): ${reason}`,
        'try again in a moment',
        { isTransient: true },
      );
    case 504:
      return new NodepoolError(
        'cluster',
        `${cannot}: the server ${server} ran out of time (504): ${reason}`,
        'try again in a moment',
        { isTransient: true },
      );
    default:
      return new NodepoolError(
        'cluster',
        `${cannot}: the server ${server} answered ${answer.status}: ${reason}`,
        answer.status >= 500
          ? "try again; if the error persists, check the server's log"
          : 'use -v 8 to see the request and the answer',
        { isTransient: answer.status >= 500 },
      );
  }
}

/** True for a redirect, an HTML page, a 400 without a Status, or a 404 with neither a Status nor Go's text. */
function isForeign({ status: code, headers, text }: ApiResponse, status: Status | undefined): boolean {
  if (status !== undefined) return false;
  if ((code >= 300 && code < 400) || (code === 400 && text !== '')) return true;
  return (code === 403 && isPage(headers)) || (code === 404 && text.trim() !== '404 page not found');
}

function isPage(headers: ApiResponse['headers']): boolean {
  return headers['content-type']?.startsWith('text/html') ?? false;
}

/** @param answer undefined for a 2xx response */
export function noApiServer(access: ClusterAccess, answer?: ApiResponse): NodepoolError {
  const { server } = access.cluster;
  return new NodepoolError(
    'cluster',
    `${server} is not a Kubernetes API server${answer === undefined ? '' : `: ${foreignWords(answer)}`}`,
    `check ${addressPlace(access)}: scheme, address, port and path, and whether a proxy or login page answers instead`,
    { isGeneral: true },
  );
}

/** The error for a list whose continue token repeats. */
export function endlessList({ plural }: Resource, { cluster }: ClusterAccess): NodepoolError {
  const { server } = cluster;
  const problem = `cannot list ${plural}: the server ${server} sent the same continue token twice, so the list does not end`;
  return new NodepoolError('cluster', problem, 'check for a proxy that answers from a cache');
}

function foreignWords(answer: ApiResponse): string {
  const { status, headers, text } = answer;
  if (headers.location !== undefined) return `it answered ${status}, see ${headers.location}`;
  const kind = isPage(headers) ? 'a page' : text.trimStart().startsWith('{') ? 'JSON that is not a Status' : undefined;
  return kind === undefined ? `it answered ${status}: ${reasonOf(answer)}` : `it answered ${status} with ${kind}`;
}

function unauthorized({ cluster, user, source }: ClusterAccess, ends: Date | undefined, now: Date): NodepoolError {
  if (ends !== undefined && ends < now) {
    const when = ends.toISOString().replace('.000Z', 'Z');
    return new NodepoolError(
      'cluster',
      `the client certificate of user "${user.name}" in ${source} expired at ${when}`,
      'renew the certificate, or use another user with --user or --context',
      { isGeneral: true },
    );
  }
  const named = user.name === '' ? 'given by flags' : `of user "${user.name}"`;
  return hasCredentials(user)
    ? new NodepoolError(
        'cluster',
        `the server ${cluster.server} refused the credentials ${named} (401)`,
        `log in again, or use another user of ${source} with --user or --context`,
        { isGeneral: true },
      )
    : new NodepoolError(
        'cluster',
        `the server ${cluster.server} requires credentials (401), but ${noCredentials(user.name)}`,
        LOG_IN,
        { isGeneral: true },
      );
}

/** Whether requests of this user have credentials. */
function hasCredentials({
  token,
  tokenFile,
  certFile,
  certData,
  exec,
  authProvider,
  username,
}: ClusterAccess['user']): boolean {
  return [token, tokenFile, certFile, certData, exec, authProvider, username].some(value => value !== undefined);
}

const LOG_IN = 'use --user, --context or --token';

function noCredentials(user: string): string {
  return user === '' ? 'none were sent: no user is set' : `none were sent: user "${user}" has none`;
}

/** The server treats requests without credentials, or with an unknown certificate, as requests of this user. */
const ANONYMOUS = 'system:anonymous';

function anonymous(cannot: string, { user }: ClusterAccess): NodepoolError {
  const lacks = `and user "${ANONYMOUS}" may not do this`;
  return hasCredentials(user)
    ? new NodepoolError(
        'cluster',
        `${cannot}: the server ignores the credentials of user "${user.name}", ${lacks}`,
        'log in again, or use another user with --user or --context',
        { isGeneral: true },
      )
    : new NodepoolError('cluster', `${cannot}: no credentials were sent, ${lacks}`, LOG_IN, { isGeneral: true });
}

/** The authorizer's message names the missing permission; admission plugins have other messages. */
function forbidden(request: RequestInfo, cannot: string, reason: string, access: ClusterAccess): NodepoolError {
  const missing = /User "([^"]*)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"/.exec(reason);
  if (missing === null) {
    const next = "ask the cluster's administrator";
    return new NodepoolError('cluster', `${cannot}: ${reason}`, next, { isPermanent: true });
  }
  const [, user = '', verb = request.verb, resource = request.resource.plural, group = ''] = missing;
  if (user === ANONYMOUS && !access.user.as) return anonymous(cannot, access);
  // Newer servers check finer verbs first (`impersonate-on:user-info:list`); `impersonate` is sufficient on all.
  if (verb.startsWith('impersonate')) {
    const text = `${cannot}: user "${user}" may not impersonate users`;
    return new NodepoolError('cluster', text, 'ask for a role with verb impersonate on users, or leave out --as');
  }
  const [plural = '', subresource] = resource.split('/');
  const what = qualifiedName({ plural, group }) + (subresource === undefined ? '' : `/${subresource}`);
  // For example from `cannot list nodes`.
  const act = cannot.replace(/^cannot /, '');
  return new ForbiddenError(`user "${user}" may not ${act}`, [`verb ${verb} on ${what}`]);
}

function notFound(
  { resource, name }: RequestInfo,
  answer: ApiResponse,
  status: Status | undefined,
  subject: string,
  server: string,
  cannot: string,
): NodepoolError {
  if (name !== undefined && isMissingObject(answer, resource, name)) {
    return new NodepoolError('cluster', `${subject} not found`);
  }
  if (status?.name !== undefined) {
    // The namespace of a create is missing, or a proxy reports another object.
    return new NodepoolError('cluster', `${cannot}: ${status.message}`, 'create the object, or use another name');
  }
  if (resource === NODE_POOLS) {
    return new NodepoolError(
      'cluster',
      `the server ${server} does not have the NodePool resource`,
      'run `kubectl nodepool install`',
    );
  }
  return new NodepoolError(
    'cluster',
    // A path without a version is not a resource, for example /version.
    resource.version === ''
      ? `${cannot}: the server ${server} does not have it (404)`
      : `the server ${server} does not have the resource ${qualifiedName(resource)} ${resource.version}`,
    'check the address in the kubeconfig, and that the cluster is recent enough',
  );
}

/** A single cause in the same line, several as a list. */
function invalid(cannot: string, status: Status | undefined, reason: string): NodepoolError {
  const causes = [
    ...new Set((status?.causes ?? []).map(({ field, message }) => (field === '' ? message : `${field}: ${message}`))),
  ];
  if (causes.length > 1)
    return new NodepoolError('input', `${cannot}: invalid:`, 'correct the object', { items: causes });
  return new NodepoolError('input', `${cannot}: invalid: ${causes[0] ?? reason}`, 'correct the object');
}

// Errors for unknown fields, with fieldValidation=Strict.

/** Undefined for other reasons. The status is 400 for a create, 422 for a patch. @param cannot as `cannot create …` */
function unknownFields(resource: Resource, cannot: string, reason: string): NodepoolError | undefined {
  const fields = /strict decoding error: (.*)$/s.exec(reason)?.[1];
  if (fields === undefined) return undefined;
  const unknown = resource === NODE_POOLS ? [...fields.matchAll(/unknown field "([^"]*)"/g)] : [];
  if (unknown.some(([, path = '']) => isPoolField(path))) {
    const text = `${cannot}: the CRD nodepools.nodes.lailin.xyz is from another version: ${fields}`;
    return new NodepoolError('cluster', text, 'run `kubectl nodepool install`');
  }
  return new NodepoolError('input', `${cannot}: ${fields}`, 'correct or remove that field');
}
