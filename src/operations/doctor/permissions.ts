/** What the user may do with this program, and what the controller's service account may do. */

import { plural } from '../../nodepool/plural.ts';
import type { AccessQuestion, DoctorPort, Subject } from '../doctor-port.ts';
import type { ManifestObject } from '../ports.ts';
import { error, type Finding, named, ok, skipped, warning } from './check.ts';
import { boundGrantsOf } from './manifest-access.ts';
import { type CommandNeeds, nameOf } from './needs.ts';
import { questionText, questionTexts } from './question.ts';

/** Permissions that the same commands need. */
const MAX_ALIKE = 8;
/** Characters of such a line. */
const LINE_WIDTH = 70;
/** The command without which no other is of use. */
const LEAST_NEEDED = 'get';
const MAY_ASK: AccessQuestion = { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' };

export async function checkPermissions(needs: readonly CommandNeeds[], port: DoctorPort): Promise<Finding> {
  const denied = await deniedOf(
    needs.flatMap(({ questions }) => questions),
    questions => port.allowed(questions),
  );
  const isDenied = (question: AccessQuestion) => denied.has(questionText(question));
  const lacking = needs.filter(({ questions }) => questions.some(isDenied));
  if (lacking.length === 0) return ok('this user has the permissions of all commands');
  const missing = missingPermissions(lacking, isDenied);
  const details = missing.map(({ permission, commands }) => `${permission}: needed by ${commands.join(', ')}`);
  const remedy = 'ask for a role with the permissions of the commands that you need';
  const message = `this user lacks permissions for ${lackingWords(lacking, commands(needs).size)}`;
  const isWorst = lacking.some(({ command }) => command === LEAST_NEEDED);
  return { ...(isWorst ? error : warning)(message, remedy, details), table: tableOf(missing) };
}

interface Missing {
  /** `get,patch nodes` */
  permission: string;
  commands: string[];
}

/** Each missing permission once, with the commands that need it; a form with a flag only where the command alone does not. */
function missingPermissions(
  lacking: readonly CommandNeeds[],
  isDenied: (question: AccessQuestion) => boolean,
): Missing[] {
  const needed = new Map<string, { question: AccessQuestion; commands: string[] }>();
  for (const { command, questions } of lacking) {
    for (const question of questions.filter(isDenied)) {
      const text = questionText(question);
      const { commands } = needed.get(text) ?? { commands: [] as string[] };
      const isNamed = commands.includes(nameOf(command)) || commands.includes(command);
      needed.set(text, { question, commands: isNamed ? commands : [...commands, command] });
    }
  }
  const byCommands = Map.groupBy(needed.values(), ({ commands }) => commands.join());
  return [...byCommands.values()].flatMap(alike =>
    questionTexts(alike.map(({ question }) => question)).map(permission => ({
      permission,
      commands: alike[0]?.commands ?? [],
    })),
  );
}

/**
 * Without the names of objects, permissions of the same commands together, and many of them counted.
 * `install --controller` grants nearly every permission, so it is named only where no other command needs one.
 */
function tableOf(missing: readonly Missing[]): string[][] {
  const groups = Map.groupBy(missing, ({ commands }) => {
    const others = commands.filter(command => !command.endsWith(' --controller'));
    return named(others.length > 0 ? others : commands);
  });
  const rows = [...groups].flatMap(([commands, alike]) => {
    const permissions = [...new Set(alike.map(({ permission }) => permission.replace(/ "[^"]*"/, '')))];
    const lines = permissions.length > MAX_ALIKE ? [`${alike.length} permissions, see -o json`] : joined(permissions);
    return lines.map(line => [line, commands]);
  });
  return [['MISSING', 'NEEDED BY'], ...rows];
}

/** As many to a line as fit. */
function joined(texts: readonly string[]): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const line = [...lines.slice(-1), text].join('; ');
    if (lines.length > 0 && line.length <= LINE_WIDTH) lines[lines.length - 1] = line;
    else lines.push(text);
  }
  return lines;
}

/** A command that lacks nothing without its flag is not counted: `2 commands of 20, and for get --watch`. */
function lackingWords(lacking: readonly CommandNeeds[], all: number): string {
  const commands = lacking.map(({ command }) => command);
  const whole = commands.filter(command => command === nameOf(command));
  const forms = commands.filter(command => !whole.includes(nameOf(command)));
  return [
    ...(whole.length > 0 ? [`${plural(whole.length, 'command')} of ${all}`] : []),
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
  if (!mayAsk) return skipped(`this user lacks the permission for the check: ${questionText(MAY_ASK)}`);
  const subject = subjectOf(controller);
  const denied = await deniedOf(boundGrantsOf(controller), questions => port.allowed(questions, subject));
  if (denied.size === 0) return ok(`${subject.user} has the permissions of the controller`);
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
