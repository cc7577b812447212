/** What the user may do with this program, and what the controller's service account may do. */

import { plural } from '../../nodepool/plural.ts';
import type { AccessQuestion, DoctorPort, Subject } from '../doctor-port.ts';
import type { ManifestObject } from '../ports.ts';
import { error, type Finding, named, ok, skipped, warning } from './check.ts';
import { boundGrantsOf } from './manifest-access.ts';
import { type CommandNeeds, nameOf } from './needs.ts';
import { questionText, questionTexts } from './question.ts';

/** The command without which there is nothing to work with. */
const LEAST_NEEDED = 'get';
const MAY_ASK: AccessQuestion = { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' };

export async function checkPermissions(needs: readonly CommandNeeds[], port: DoctorPort): Promise<Finding> {
  const denied = await deniedOf(
    needs.flatMap(({ questions }) => questions),
    questions => port.allowed(questions),
  );
  const isDenied = (question: AccessQuestion) => denied.has(questionText(question));
  const lacking = needs.filter(({ questions }) => questions.some(isDenied));
  if (lacking.length === 0) return ok('this user may do what every verb asks for');
  const details = lacking.map(({ command, questions }) => {
    return `${command} lacks: ${questionTexts(questions.filter(isDenied)).join('; ')}`;
  });
  const remedy = 'ask for a role with them, for the verbs that you need';
  const message = `this user lacks permissions for ${lackingWords(lacking, commands(needs).size)}`;
  return lacking.some(({ command }) => command === LEAST_NEEDED)
    ? error(message, remedy, details)
    : warning(message, remedy, details);
}

/** A command that lacks nothing without its flag is not counted: `2 verbs of 20, and for get --watch`. */
function lackingWords(lacking: readonly CommandNeeds[], all: number): string {
  const commands = lacking.map(({ command }) => command);
  const whole = commands.filter(command => command === nameOf(command));
  const forms = commands.filter(command => !whole.includes(nameOf(command)));
  return [
    ...(whole.length > 0 ? [`${plural(whole.length, 'verb')} of ${all}`] : []),
    ...(forms.length > 0 ? [named(forms)] : []),
  ].join(', and for ');
}

function commands(needs: readonly CommandNeeds[]): Set<string> {
  return new Set(needs.map(({ command }) => nameOf(command)));
}

/** @param controller the objects that it is installed with: their roles say what it needs, and who it is */
export async function checkControllerPermissions(
  controller: readonly ManifestObject[],
  isInstalled: () => Promise<boolean>,
  port: DoctorPort,
): Promise<Finding> {
  if (!(await isInstalled())) return skipped('no controller is installed in the cluster');
  const [mayAsk] = await port.allowed([MAY_ASK]);
  if (!mayAsk) return skipped(`this user may not ask: lacks ${questionText(MAY_ASK)}`);
  const subject = subjectOf(controller);
  const denied = await deniedOf(boundGrantsOf(controller), questions => port.allowed(questions, subject));
  if (denied.size === 0) return ok(`${subject.user} may do what the controller asks for`);
  return error(
    `${subject.user} lacks ${plural(denied.size, 'permission')}`,
    'run `kubectl nodepool install --controller --image IMAGE` again, with the image that runs',
    [...denied],
  );
}

/** The texts of the questions whose answer is no. Each is sent once, all at the same time. */
async function deniedOf(
  questions: AccessQuestion[],
  ask: (questions: AccessQuestion[]) => Promise<boolean[]>,
): Promise<Set<string>> {
  const unique = new Map(questions.map(question => [questionText(question), question]));
  const allowed = await ask([...unique.values()]);
  return new Set([...unique.keys()].filter((_, index) => !allowed[index]));
}

function subjectOf(controller: readonly ManifestObject[]): Subject {
  const account = controller.find(({ kind }) => kind === 'ServiceAccount');
  const { name = '', namespace = '' } = account?.metadata ?? {};
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}
