/** Refusals by admission policies and webhooks, recognized by the server's message. */
import { NodepoolError } from '../../nodepool/errors.ts';

/** Names are restricted, since the next step is a command with the name. */
const NAME = '[a-z0-9][a-z0-9.-]{0,252}';
const VALIDATING = new RegExp(`ValidatingAdmissionPolicy '(${NAME})'(?: with binding '${NAME}')? denied request: `);
// Without a kind for mutating policies (apiserver, policy/generic PolicyError).
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
      `${cannot}: ${kind} "${name}" denied it`,
      why,
      `ask whoever runs this policy to allow it: ${look}`,
      true,
    );
  }
  const [, denied] = match('webhook', WEBHOOK, message) ?? [];
  if (denied !== undefined) {
    const next = `ask whoever runs this webhook to allow it: ${WEBHOOKS}`;
    return refused(`${cannot}: admission webhook "${denied.name}" denied it`, denied.why, next, true);
  }
  const [, failed] = match('webhook', WEBHOOK_FAILED, message) ?? [];
  if (failed === undefined) return undefined;
  const next = `try again; if it stays, ask whoever runs this webhook: ${WEBHOOKS}`;
  return refused(`${cannot}: the server failed to call admission webhook "${failed.name}"`, failed.why, next, false);
}

/** Whether a policy or webhook refused: they may answer with any status, as 404 and 409. */
export function isPolicyRefusal(message: string): boolean {
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
