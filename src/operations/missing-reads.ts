/** The reads that a command needs and the user lacks: one who asks for a role after each refusal asks often. */
import { NodepoolError } from '../nodepool/errors.ts';
import { attempt } from './attempt.ts';
import { needsOf } from './doctor/needs.ts';
import { questionText } from './doctor/question.ts';
import type { AccessQuestion, DoctorPort } from './doctor-port.ts';

const READS = ['get', 'list', 'watch'];
const VERB_ON = String.raw`verb \S+ on [^\s,]+`;
/** As errors of refused requests begin: see permitted.ts and kube/resources/errors.ts. */
const ASK = new RegExp(`^ask for a role with ${VERB_ON}(?:, ${VERB_ON})*`);

/**
 * The refusal, whose next step names the other reads, too. Without an answer of the server it is as it was.
 * @param command its needs without flags count
 */
export async function withMissingReads(
  refusal: NodepoolError,
  command: string,
  connection: { doctor(): Promise<Pick<DoctorPort, 'allowed'>> },
): Promise<NodepoolError> {
  const { kind, message, lines, next = '' } = refusal;
  const [asked] = ASK.exec(next) ?? [];
  const needs = needsOf([command]).find(each => each.command === command);
  const reads = (needs?.questions ?? []).filter(question => READS.includes(question.verb) && !isNamed(question, asked));
  if (asked === undefined || reads.length === 0) return refusal;
  const answer = await attempt(async () => (await connection.doctor()).allowed(reads));
  const missing = 'value' in answer ? reads.filter((_, at) => !answer.value[at]) : [];
  if (missing.length === 0) return refusal;
  const all = [asked, ...new Set(missing.map(roleText))].join(', ');
  const [first = message, ...items] = lines;
  return new NodepoolError(
    kind,
    first,
    next.replace(asked, () => all),
    { items, isForbidden: true, cause: refusal },
  );
}

/** The refusal has no name and no namespace of the object. */
function isNamed({ name: _name, namespace: _namespace, ...question }: AccessQuestion, asked = ''): boolean {
  return asked.replace('ask for a role with ', '').split(', ').includes(roleText(question));
}

function roleText(question: AccessQuestion): string {
  return `verb ${question.verb} on ${questionText(question).slice(question.verb.length + 1)}`;
}
