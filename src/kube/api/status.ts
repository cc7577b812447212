/** Parses the meta/v1 Status of a refusal, and recognizes the refusals that callers expect. */
import { isObject } from '../../nodepool/json.ts';
import type { Answer } from '../transport/answer.ts';
import { isPolicyRefusal } from './policy-refusal.ts';
import type { Resource } from './resource.ts';

/** The fields that are used. */
export interface Status {
  reason: string;
  message: string;
  /** Plural, group (empty for the core group) and name of the object in `details`. */
  resource: string;
  group: string;
  name: string | undefined;
  causes: { reason: string; field: string; message: string }[];
  /** Its `code`, if it is a failure; the HTTP status may differ. */
  failure: number | undefined;
}

/** Undefined if the body is no Status, as the plain text of a 404 for a resource that is not served. */
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
    // `<nil>`: the server's note that it has stopped the validation.
    causes: causes
      .filter(cause => cause.field !== '<nil>')
      .map(cause => ({ reason: textOf(cause.reason), field: textOf(cause.field), message: textOf(cause.message) })),
    failure: body.status === 'Failure' && typeof body.code === 'number' ? body.code : undefined,
  };
}

/**
 * Whether the API server answered that this object does not exist. Not so a 404 for a resource that is not served, of a
 * proxy, or about another object. For a subresource that is not served, the server answers the same.
 */
export function isMissingObject(answer: Answer, { plural, group }: Resource, name: string): boolean {
  const missing = missingObject(answer);
  return missing?.resource === plural && missing.group === group && missing.name === name;
}

/** The object that does not exist by the API server's 404; it may differ from the requested one. */
export function missingObject(answer: Answer): Pick<Status, 'resource' | 'group' | 'name'> | undefined {
  const status = answer.status === 404 ? parseStatus(answer.text) : undefined;
  const isOurs = status?.reason === 'NotFound' && status.name !== undefined && !isPolicyRefusal(status.message);
  return isOurs ? status : undefined;
}

/** Whether the namespace of the object does not exist. */
export function isMissingNamespace(answer: Answer, { namespace }: Resource): boolean {
  const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
  return namespace !== undefined && isMissingObject(answer, namespaces, namespace);
}

/** Whether the resourceVersion or UID did not match; a webhook's 409 is no conflict. */
export function isConflict(answer: Answer): boolean {
  return answer.status === 409 && !isPolicyRefusal(parseStatus(answer.text)?.message ?? '');
}

/** The message of the Status; of any other body, the first line. */
export function reasonOf({ text }: Pick<Answer, 'text'>, status = parseStatus(text)): string {
  return status?.message || text.trim().split('\n', 1)[0] || 'no reason given';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
