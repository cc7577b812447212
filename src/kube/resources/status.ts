/** The meta/v1 Status in which an API server refuses a request: its reading, and what callers look for in it. */
import { isObject } from '../../nodepool/json.ts';
import type { Answer } from '../transport/answer.ts';
import { isPolicyRefusal } from './policy-refusal.ts';
import type { Resource } from './resource.ts';

/** The fields that are used. */
export interface Status {
  reason: string;
  message: string;
  /** Of the object that it is about: plural, group (empty for the core group) and name. */
  resource: string;
  group: string;
  name: string | undefined;
  causes: { reason: string; field: string; message: string }[];
  /** The HTTP status of the failure that it tells of, which that of the answer need not be. */
  failure: number | undefined;
}

/** Undefined when the answer is no Status, as the plain text of a 404 for a resource that is not served. */
export function parseStatus(text: string): Status | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(body) || body.kind !== 'Status') return undefined;
  const details = isObject(body.details) ? body.details : {};
  const causes = Array.isArray(details.causes) ? details.causes.filter(isObject) : [];
  return {
    reason: textOf(body.reason),
    message: textOf(body.message),
    resource: textOf(details.kind),
    group: textOf(details.group),
    name: textOf(details.name) || undefined,
    // `<nil>`: the server's note that it stopped looking, which helps nobody.
    causes: causes
      .filter(cause => cause.field !== '<nil>')
      .map(cause => ({ reason: textOf(cause.reason), field: textOf(cause.field), message: textOf(cause.message) })),
    failure: body.status === 'Failure' && typeof body.code === 'number' ? body.code : undefined,
  };
}

/**
 * True when the API server says that this object does not exist. A 404 of a resource that is not served, of a proxy, or
 * about another object says nothing of it. Of a subresource the server says the same when it does not serve that.
 */
export function isMissingObject(answer: Answer, { plural, group }: Resource, name: string): boolean {
  const missing = missingObject(answer);
  return missing?.resource === plural && missing.group === group && missing.name === name;
}

/** The object that does not exist, as the API server says; it need not be the one that was asked for. */
export function missingObject(answer: Answer): Pick<Status, 'resource' | 'group' | 'name'> | undefined {
  const status = answer.status === 404 ? parseStatus(answer.text) : undefined;
  const isOurs = status?.reason === 'NotFound' && status.name !== undefined && !isPolicyRefusal(status.message);
  return isOurs ? status : undefined;
}

/** True when the namespace of what was to be written does not exist. */
export function isMissingNamespace(answer: Answer, { namespace }: Resource): boolean {
  const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
  return namespace !== undefined && isMissingObject(answer, namespaces, namespace);
}

/** True when the object moved on; false when a webhook refused with this status. */
export function isConflict(answer: Answer): boolean {
  return answer.status === 409 && !isPolicyRefusal(parseStatus(answer.text)?.message ?? '');
}

/** The server's own words: of what is no Status, as a proxy's page, the first line. */
export function reasonOf({ text }: Pick<Answer, 'text'>, status = parseStatus(text)): string {
  return status?.message || text.trim().split('\n', 1)[0] || 'no reason given';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
