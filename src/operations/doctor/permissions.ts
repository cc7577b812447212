/** What the user may do with this program, and what the controller's service account may do. */
import { isObject } from '../../nodepool/json.ts';
import type { AccessQuestion, DoctorPort, Subject } from '../doctor-port.ts';
import type { ManifestObject } from '../ports.ts';
import { error, type Finding, ok, plural, skipped, warning } from './check.ts';
import { needsOf, questionText } from './needs.ts';

/** The verb without which there is nothing to work with. */
const LEAST = 'get';
const MAY_ASK: AccessQuestion = { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' };

/** @param verbs that this program has */
export async function checkPermissions(verbs: readonly string[], port: DoctorPort): Promise<Finding> {
  const needs = needsOf(verbs);
  const denied = await deniedOf(
    needs.flatMap(({ questions }) => questions),
    question => port.allowed(question),
  );
  const lacking = needs.flatMap(({ verb, questions }) => {
    const texts = [...new Set(questions.map(questionText))].filter(text => denied.has(text));
    return texts.length === 0 ? [] : [{ verb, text: `${verb} lacks: ${texts.join(', ')}` }];
  });
  if (lacking.length === 0) return ok('this user may do what every verb asks for');
  const details = lacking.map(({ text }) => text);
  const remedy = 'ask for a role with them, for the verbs that you need';
  const message = `this user lacks permissions for ${plural(lacking.length, 'verb')} of ${needs.length}`;
  return lacking.some(({ verb }) => verb === LEAST)
    ? error(message, remedy, details)
    : warning(message, remedy, details);
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
  const denied = await deniedOf(controller.flatMap(questionsOf), questions => port.allowed(questions, subject));
  if (denied.size === 0) return ok(`${subject.user} may do what the controller asks for`);
  return error(
    `${subject.user} lacks ${plural(denied.size, 'permission')}`,
    'run `kubectl nodepool install --controller --image IMAGE` again, with the image that runs',
    [...denied],
  );
}

/** The texts of those that are not allowed. Each is asked once, all at the same time. */
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

/** What a Role or ClusterRole grants, each as a question. */
function questionsOf({ kind, metadata: { namespace }, rules }: ManifestObject): AccessQuestion[] {
  if ((kind !== 'Role' && kind !== 'ClusterRole') || !Array.isArray(rules)) return [];
  return rules.filter(isObject).flatMap(rule => {
    const names = texts(rule.resourceNames);
    return texts(rule.apiGroups).flatMap(group =>
      texts(rule.resources).flatMap(what => {
        const [resource = '', subresource] = what.split('/');
        return texts(rule.verbs).flatMap(verb =>
          (names.length === 0 ? [undefined] : names).map(name => ({
            verb,
            group,
            resource,
            ...(subresource === undefined ? {} : { subresource }),
            ...(namespace === undefined ? {} : { namespace }),
            ...(name === undefined ? {} : { name }),
          })),
        );
      }),
    );
  });
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
}
