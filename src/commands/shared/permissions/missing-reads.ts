/** The reads that a command needs and the user lacks: one who asks for a role after each refusal asks often. */

import type { AccessQuestion } from '../../../kube/api/access-reviews.ts';
import type { DoctorPort } from '../../../kube/resources/doctor.ts';
import { ForbiddenError } from '../../../nodepool/errors.ts';
import { attempt } from '../attempt.ts';
import { needsOf } from './needs.ts';

const READS = ['get', 'list', 'watch'];

/**
 * The refusal, whose next step names the other reads, too. Without an answer of the server it is as it was.
 * @param command its needs without flags count
 */
export async function withMissingReads(
  refusal: ForbiddenError,
  command: string,
  connection: { doctor(): Promise<Pick<DoctorPort, 'allowed'>> },
): Promise<ForbiddenError> {
  const { message, lines, missing, otherwise } = refusal;
  const needs = needsOf([command]).find(each => each.command === command);
  const reads = (needs?.questions ?? []).filter(({ verb }) => READS.includes(verb));
  const others = reads.filter(question => !missing.includes(roleText(anywhere(question))));
  const answer =
    others.length === 0 ? undefined : await attempt(async () => (await connection.doctor()).allowed(others));
  const lacking = answer !== undefined && 'value' in answer ? others.filter((_, at) => !answer.value[at]) : [];
  // A refusal does not tell the namespace.
  const refused = missing.map(role => {
    const needed = reads.find(question => question.namespace !== undefined && roleText(anywhere(question)) === role);
    return needed === undefined ? role : roleText(needed);
  });
  const roles = [...new Set([...refused, ...lacking.map(roleText)])];
  if (roles.join() === missing.join()) return refusal;
  const [first = message, ...items] = lines;
  return new ForbiddenError(first, roles, {
    items,
    otherwise,
    cause: refusal,
  });
}

/** As a refusal has it. */
function anywhere({ name: _name, namespace: _namespace, ...question }: AccessQuestion): AccessQuestion {
  return question;
}

function roleText(question: AccessQuestion): string {
  return `verb ${question.verb} on ${questionText(question).slice(question.verb.length + 1)}`;
}

// A question about a permission, as text.

/** `patch nodepools.nodes.lailin.xyz/status`, `get leases.coordination.k8s.io "x" in kube-system` */
export function questionText(question: AccessQuestion): string {
  return `${question.verb} ${objectText(question)}`;
}

/** The same of several, each object once: `get,patch nodes`. */
export function questionTexts(questions: readonly AccessQuestion[]): string[] {
  const byObject = Map.groupBy(questions, objectText);
  return [...byObject].map(([object, asked]) => {
    const verbs = new Set(asked.map(({ verb }) => verb));
    return `${[...verbs].join(',')} ${object}`;
  });
}

/** `nodepools.nodes.lailin.xyz/status` */
export function objectText({ group, resource, subresource, namespace, name }: AccessQuestion): string {
  return [
    `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`,
    ...(name === undefined ? [] : [`"${name}"`]),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
  ].join(' ');
}
