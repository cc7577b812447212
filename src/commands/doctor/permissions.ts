/** What the user, the controller's service account and kubelets are allowed to do. */
import type { AccessQuestion, ReviewSubject } from '../../kube/api/access-reviews.ts';
import type { DoctorPort } from '../../kube/resources/doctor.ts';
import type { ManifestObject } from '../../kube/resources/manifests.ts';
import {
  KUBELET_REGISTRATION_REMEDY,
  KUBELET_RISK_REMEDY,
  kubeletRegistrationText,
  kubeletRisk,
  kubeletRiskText,
  RESTRICTED_DOMAIN,
} from '../../nodepool/membership/kubelet-labels.ts';
import { firstFew, noun, plural } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type CheckFinding, error, ok, type PermissionRow, skipped, warning } from '../shared/check.ts';
import { type BornInPool, MEMBERSHIP, RECORDS } from '../shared/install/admission-policies.ts';
import {
  boundGrantsOf,
  type CommandNeeds,
  nameOf,
  objectText,
  questionText,
  questionTexts,
} from '../shared/permissions/needs.ts';
import { evictionsFlag, type FindDeployment, reinstallRemedy } from './controller.ts';

/** Up to this number, permissions that only `install --controller`, `--admission` etc. need are listed singly. */
const MAX_OF_CONTROLLER = 8;
/** The command that all others depend on. */
const LEAST_NEEDED = 'get';
/** Needed when pods can return to a node; roles of earlier versions lack it. */
const BUDGETS: AccessQuestion = { verb: 'list', group: 'policy', resource: 'poddisruptionbudgets' };
/** Permissions that a pool with `noExecute: Drain` needs. */
const EVICTIONS: AccessQuestion[] = [
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' },
  BUDGETS,
];
const MAX_POOLS = 5;
const MAY_ASK: AccessQuestion = { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' };

export async function checkPermissions(needs: readonly CommandNeeds[], port: DoctorPort): Promise<CheckFinding> {
  const denied = await deniedOf(
    needs.flatMap(({ questions }) => questions),
    questions => port.allowed(questions),
  );
  const isDenied = (question: AccessQuestion) => denied.has(questionText(question));
  const lacking = needs.filter(({ questions }) => questions.some(isDenied));
  if (lacking.length === 0) return ok('this user has the permissions for all commands');
  const missing = missingPermissions(lacking, isDenied);
  const remedy = 'ask for a role with the permissions that your commands need';
  const message = `this user lacks permissions for ${lackingWords(lacking, commands(needs).size)}`;
  const isWorst = lacking.some(({ command }) => command === LEAST_NEEDED);
  return { ...(isWorst ? error : warning)(message, remedy, exactLines(missing)), permissions: rowsOf(missing) };
}

interface MissingPermission {
  question: AccessQuestion;
  commands: string[];
}

/** Each missing permission once, with the commands that need it; with a flag only if the command alone does not. */
function missingPermissions(
  lacking: readonly CommandNeeds[],
  isDenied: (question: AccessQuestion) => boolean,
): MissingPermission[] {
  const needed = new Map<string, MissingPermission>();
  for (const { command, questions } of lacking) {
    for (const question of questions.filter(isDenied)) {
      const text = questionText(question);
      const { commands } = needed.get(text) ?? { commands: [] as string[] };
      const isNamed = commands.includes(nameOf(command)) || commands.includes(command);
      needed.set(text, { question, commands: isNamed ? commands : [...commands, command] });
    }
  }
  return [...needed.values()];
}

/** Merges permissions that the same commands need: `get,patch nodes: needed by drain, reconcile`. */
function exactLines(missing: readonly MissingPermission[]): string[] {
  const byCommands = Map.groupBy(missing, ({ commands }) => commands.join(', '));
  return [...byCommands].flatMap(([commands, alike]) =>
    questionTexts(alike.map(({ question }) => question)).map(permission => `${permission}: needed by ${commands}`),
  );
}

/** One row per resource. `install --controller` needs nearly all: named only where no other command needs one. */
function rowsOf(missing: readonly MissingPermission[]): PermissionRow[] {
  const ofController = missing.filter(({ commands }) => commands.every(isOfController));
  const isMany = ofController.length > MAX_OF_CONTROLLER;
  const few = missing.filter(each => !isMany || !ofController.includes(each));
  const rows = [...Map.groupBy(few, ({ question }) => objectText(anyName(question)))].map(([resource, alike]) => ({
    verbs: [...new Set(alike.map(({ question }) => question.verb))].join(','),
    resource,
    commands: namesOf(alike),
  }));
  if (!isMany) return rows;
  const rest = `${ofController.length} permissions, see -o json`;
  return [...rows, { verbs: '…', resource: rest, commands: namesOf(ofController) }];
}

function anyName({ name: _, ...question }: AccessQuestion): AccessQuestion {
  return question;
}

function isOfController(command: string): boolean {
  return command.endsWith(' --controller') || command.endsWith(' --admission');
}

/** Commands without a flag come before those with a flag. */
function namesOf(missing: readonly MissingPermission[]): string[] {
  const all = [...new Set(missing.flatMap(({ commands }) => commands))];
  const others = all.filter(command => !isOfController(command));
  const names = (others.length > 0 ? others : all).toSorted();
  const whole = names.filter(command => command === nameOf(command));
  return [...whole, ...names.filter(command => !whole.includes(nameOf(command)))];
}

/** Counts commands that only lack something for a flag separately: `2 commands of 20, and for some uses of 1 other`. */
function lackingWords(lacking: readonly CommandNeeds[], all: number): string {
  const whole = lacking.filter(({ command }) => command === nameOf(command)).length;
  const others = commands(lacking).size - whole;
  if (whole === 0) return `some uses of ${plural(others, 'command')}`;
  return `${plural(whole, 'command')} of ${all}${others === 0 ? '' : `, and for some uses of ${plural(others, 'other')}`}`;
}

function commands(needs: readonly CommandNeeds[]): Set<string> {
  return new Set(needs.map(({ command }) => nameOf(command)));
}

/** @param controller declares its permissions and service account @param drained pools with `noExecute: Drain` */
export async function checkControllerPermissions(
  controller: readonly ManifestObject[],
  drained: readonly string[],
  findDeployment: FindDeployment,
  port: DoctorPort,
): Promise<CheckFinding> {
  const deployment = await findDeployment();
  if (deployment === undefined) return skipped('no controller is installed in the cluster');
  const [mayAsk] = await port.allowed([MAY_ASK]);
  if (!mayAsk) return skipped(`this check needs a permission that this user lacks: ${questionText(MAY_ASK)}`);
  const subject = subjectOf(controller);
  const denied = await deniedOf(boundGrantsOf(controller), questions => port.allowed(questions, subject));
  if (denied.size > 0) {
    const lacks = `${subject.user} lacks ${plural(denied.size, 'permission')}`;
    return error(lacks, reinstallRemedy(deployment), [...denied]);
  }
  const mayNot = drained.length === 0 ? [] : await deniedOf(EVICTIONS, questions => port.allowed(questions, subject));
  const lacking = [...mayNot];
  if (lacking.length === 0) return ok(`${subject.user} has all permissions that the controller needs`);
  const pools = `${noun(drained.length, 'pool')} ${firstFew(drained, MAX_POOLS)}`;
  const isBudgets = lacking.every(text => text === questionText(BUDGETS));
  const [what, where] = isBudgets
    ? ['list PodDisruptionBudgets', 'evicted pods return to the node']
    : ['evict pods', 'pods do not tolerate the taint'];
  const message = `${subject.user} may not ${what}: NoExecute taints of ${pools} are not set on nodes where ${where}`;
  return error(message, `${reinstallRemedy(deployment)}, with ${evictionsFlag(deployment)}`, lacking);
}

/** The texts of the denied permissions. Each question is sent once, all at the same time. */
async function deniedOf(
  questions: AccessQuestion[],
  ask: (questions: AccessQuestion[]) => Promise<boolean[]>,
): Promise<Set<string>> {
  const unique = new Map(questions.map(question => [questionText(question), question]));
  const allowed = await ask([...unique.values()]);
  return new Set([...unique.keys()].filter((_, index) => !allowed[index]));
}

function subjectOf(controller: readonly ManifestObject[]): ReviewSubject {
  const account = controller.find(({ kind }) => kind === 'ServiceAccount');
  const { name = '', namespace = '' } = account?.metadata ?? {};
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}

// Whether policies keep kubelets from changing what pools rely on, and what kubelets could gain without them.

const APPLY = 'if you do not trust kubelets, run `kubectl nodepool install --policies`';

const REINSTALL =
  'run `kubectl nodepool install --admission` again, or remove the policies with `kubectl nodepool uninstall --controller`';

/** @param off policies for kubelets that are not in force */
export function checkPolicies(
  off: readonly string[],
  deployment: ManifestObject | undefined,
  born: BornInPool = { kind: 'absent' },
): CheckFinding {
  if (born.kind === 'installed' && (born.off.length > 0 || off.includes(RECORDS))) {
    const message =
      born.off.length > 0
        ? 'new nodes may register without the labels and taints of their pool: the admission policy is not in force'
        : 'kubelets can forge the record of what their new node got from its pool: the admission policy is not in force';
    return warning(message, REINSTALL, [...born.off, ...off].map(notInForce));
  }
  if (off.length === 0)
    return ok('admission policies prevent kubelets from changing the records and labels of members');
  const details = off.map(notInForce);
  if (deployment !== undefined) {
    const message = "the controller's admission policies are not in force";
    return warning(message, reinstallRemedy(deployment), details);
  }
  // They were installed on purpose, and both are needed.
  if (born.kind === 'installed' || off.length === 1)
    return warning('admission policies are only partly in force', 'run `kubectl nodepool install --policies`', details);
  return ok(`admission policies are not installed (optional without the controller); ${APPLY}`);
}

function notInForce(name: string): string {
  return `${name}: missing, or different from this version`;
}

/** @param off undefined if the policies could not be read */
export function checkMembership(pools: readonly NodePool[], off: readonly string[] | undefined): CheckFinding {
  const risks = pools.flatMap(pool => {
    const risk = kubeletRisk(pool);
    return risk === undefined ? [] : [{ pool, risk }];
  });
  const details = risks.map(({ pool, risk }) => `${pool.metadata.name} ${kubeletRiskText(risk)}`);
  if (details.length === 0) return ok('no kubelet can move its own node between pools');
  if (off !== undefined && !off.includes(MEMBERSHIP) && !off.includes(RECORDS)) {
    const registrations = risks.flatMap(({ pool, risk }) => {
      const text = kubeletRegistrationText(risk, pool);
      return text === undefined ? [] : [`${pool.metadata.name} ${text}`];
    });
    if (registrations.length > 0) {
      const message = risks.some(({ risk }) => risk.canRegister)
        ? 'kubelets that register a new node can join pools and so get labels that they may not set; the admission policy only prevents later changes'
        : `new nodes cannot register into pools that set labels of ${RESTRICTED_DOMAIN}: the admission policy refuses these nodes`;
      return warning(message, KUBELET_REGISTRATION_REMEDY, registrations);
    }
    return ok(
      'pools select by labels that kubelets can set; the admission policy prevents changes of these labels',
      details,
    );
  }
  const isMember = risks.some(({ risk }) => risk.gains.length > 0 || risk.shedsTaints);
  return warning(
    isMember
      ? 'pools select by labels that kubelets can set, so kubelets can get labels and taints that they may not set'
      : 'RuntimeClasses of pools select by labels that kubelets can set',
    KUBELET_RISK_REMEDY,
    details,
  );
}
