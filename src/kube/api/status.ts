/** Parses the meta/v1 Status of a refusal, and recognizes the refusals that callers expect. */

import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject, parsedJson } from '../../nodepool/json.ts';
import type { ApiResponse } from '../transport/response.ts';
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
  /** The `code` of a failure; the HTTP status may differ. */
  failure: number | undefined;
}

/** Undefined if the body is not a Status, such as the plain text of a 404 for a resource that is not served. */
export function parseStatus(text: string): Status | undefined {
  const body = parsedJson(text);
  if (!isObject(body) || body.kind !== 'Status') return undefined;
  const details = isObject(body.details) ? body.details : {};
  const causes = Array.isArray(details.causes) ? details.causes.filter(isObject) : [];
  return {
    reason: textOf(body.reason),
    message: textOf(body.message),
    resource: textOf(details.kind),
    group: textOf(details.group),
    name: textOf(details.name) || undefined,
    // `<nil>`: the server's note that it stopped validating.
    causes: causes
      .filter(cause => cause.field !== '<nil>')
      .map(cause => ({ reason: textOf(cause.reason), field: textOf(cause.field), message: textOf(cause.message) })),
    failure: body.status === 'Failure' && typeof body.code === 'number' ? body.code : undefined,
  };
}

/** False for a 404 of a proxy, for a resource that is not served, or about another object; a subresource may be. */
export function isMissingObject(answer: ApiResponse, { plural, group }: Resource, name: string): boolean {
  const missing = missingObject(answer);
  return missing?.resource === plural && missing.group === group && missing.name === name;
}

/** The missing object that the API server's 404 names; it may differ from the requested one. */
export function missingObject(answer: ApiResponse): Pick<Status, 'resource' | 'group' | 'name'> | undefined {
  const status = answer.status === 404 ? parseStatus(answer.text) : undefined;
  const isOurs = status?.reason === 'NotFound' && status.name !== undefined && !isPolicyRefusal(status.message);
  return isOurs ? status : undefined;
}

/** Whether the namespace of the object does not exist. */
export function isMissingNamespace(answer: ApiResponse, { namespace }: Resource): boolean {
  const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
  return namespace !== undefined && isMissingObject(answer, namespaces, namespace);
}

/** Whether the resourceVersion or UID did not match. A 409 of a webhook is not a conflict. */
export function isConflict(answer: ApiResponse): boolean {
  return answer.status === 409 && !isPolicyRefusal(parseStatus(answer.text)?.message ?? '');
}

/** The message of the Status; for any other body, the first line. */
export function reasonOf({ text }: Pick<ApiResponse, 'text'>, status = parseStatus(text)): string {
  return status?.message || text.trim().split('\n', 1)[0] || 'no reason given';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

// Refusals by admission policies and webhooks, recognized by the server's message.

/** The pattern is strict, since the next step is a command with the name. */
const NAME = '[a-z0-9][a-z0-9.-]{0,252}';
const VALIDATING = new RegExp(`ValidatingAdmissionPolicy '(${NAME})'(?: with binding '${NAME}')? denied request: `);
// Mutating policies have no kind in the message (apiserver, policy/generic PolicyError).
const MUTATING = new RegExp(`^policy ['"](${NAME})['"](?: with binding '${NAME}')? denied request: `);
const WEBHOOK = new RegExp(`admission webhook "(${NAME})" denied the request(?:: | without explanation)`);
const WEBHOOK_FAILED = new RegExp(`failed calling webhook "(${NAME})"(?:: |; )`);
const WEBHOOKS = 'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations';

/** The error for a refusal by a policy or webhook; undefined for other messages. */
export function policyRefusal(cannot: string, message: string): NodepoolError | undefined {
  const [kind, found] =
    match('ValidatingAdmissionPolicy', VALIDATING, message) ??
    match('MutatingAdmissionPolicy', MUTATING, message) ??
    [];
  if (kind !== undefined && found !== undefined) {
    const { name, why } = found;
    const look = `kubectl get ${kind.toLowerCase()} ${name} -o yaml`;
    return refused(
      `${cannot}: denied by ${kind} "${name}"`,
      why,
      `ask the owner of the policy to allow this request: ${look}`,
      true,
    );
  }
  const [, denied] = match('webhook', WEBHOOK, message) ?? [];
  if (denied !== undefined) {
    const next = `ask the owner of the webhook to allow this request: ${WEBHOOKS}`;
    return refused(`${cannot}: denied by admission webhook "${denied.name}"`, denied.why, next, true);
  }
  const [, failed] = match('webhook', WEBHOOK_FAILED, message) ?? [];
  if (failed === undefined) return undefined;
  const next = `try again; if the error persists, ask the owner of the webhook: ${WEBHOOKS}`;
  return refused(`${cannot}: the server failed to call admission webhook "${failed.name}"`, failed.why, next, false);
}

/** Whether a policy or webhook refused: they may answer with any status, including 404 and 409. */
function isPolicyRefusal(message: string): boolean {
  return VALIDATING.test(message) || MUTATING.test(message) || WEBHOOK.test(message);
}

function match(kind: string, pattern: RegExp, message: string): [string, { name: string; why: string }] | undefined {
  const found = pattern.exec(message);
  if (found === null) return undefined;
  return [kind, { name: found[1] ?? '', why: message.slice(found.index + found[0].length) }];
}

function refused(what: string, why: string, next: string, isPermanent: boolean): NodepoolError {
  return new NodepoolError('cluster', why === '' ? `${what} without a reason` : `${what}: ${why}`, next, {
    isPermanent,
  });
}
