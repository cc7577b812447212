/**
 * Who else gets what `install` adds to a role of ours. The label of ours is no proof: whoever may create roles and bindings
 * can make a role of the name first, without rules, and bind it to herself, which grants nothing until it is filled
 * (docs/decisions/0056). The server checks both against her own rights, so that she can do neither after that.
 */
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { type LabelQuery, matchesQuery } from '../../nodepool/label-query.ts';
import { firstFew, resourceOf } from '../../nodepool/plural.ts';
import { grantsOf } from '../doctor/manifest-access.ts';
import type { AccessQuestion } from '../doctor-port.ts';
import { allPermitted, type Permitted, permitted } from '../permitted.ts';
import type { ManifestObject, ManifestsPort } from '../ports.ts';
import { textOf } from './foreign-objects.ts';

const RBAC = 'rbac.authorization.k8s.io/v1';
const MAX_NAMED = 5;

/** A way in which others get what a role grants, and what ends it. */
interface Share {
  text: string;
  next: string;
  /** Of a role of the controller alone; admins bind those for people. */
  isControllers: boolean;
}

export interface Grants {
  /** Those to which rules are added. */
  roles: readonly ManifestObject[];
  /** What was agreed to. */
  shares: readonly Share[];
}

/**
 * Throws where others would get the rights of the controller, and asks where they may. `forbidden` where that cannot be read.
 * @param live as the server has `objects`
 */
export async function beforeGrants(
  objects: readonly ManifestObject[],
  live: readonly (ManifestObject | undefined)[],
  { manifests, agree }: { manifests: ManifestsPort; agree?: (risks: readonly string[]) => Promise<void> },
): Promise<Permitted<Grants>> {
  const roles = objects.filter((wanted, at) => addedGrants(wanted, live[at]).length > 0);
  const read = await permitted(sharesOf(roles, objects, live, manifests));
  const shares = 'value' in read ? read.value : [];
  const refused = shares.filter(({ isControllers }) => isControllers);
  if (refused.length > 0) {
    throw refusal(
      'input',
      `others would get the rights of the controller: ${textsOf(refused)}; nothing was changed`,
      refused,
    );
  }
  const risks = [
    ...(shares.length === 0 ? [] : [`others would get rights on pools: ${textsOf(shares)}`]),
    ...earlierNamespace(objects, live),
  ];
  if (risks.length > 0) await agree?.(risks);
  return 'value' in read ? { value: { roles, shares } } : read;
}

/** Throws for bindings that were made between the look at them and the write. @param written as the server has `objects` by now */
export async function refuseLateShares(
  { roles, shares }: Grants,
  objects: readonly ManifestObject[],
  written: readonly ManifestObject[],
  manifests: ManifestsPort,
): Promise<void> {
  const known = new Set(shares.map(({ text }) => text));
  const late = (await sharesOf(roles, objects, written, manifests)).filter(({ text }) => !known.has(text));
  if (late.length > 0) throw refusal('cluster', `others got rights while the command ran: ${textsOf(late)}`, late);
}

async function sharesOf(
  roles: readonly ManifestObject[],
  objects: readonly ManifestObject[],
  live: readonly (ManifestObject | undefined)[],
  { list }: Pick<ManifestsPort, 'list'>,
): Promise<Share[]> {
  if (roles.length === 0) return [];
  const ours = objects.filter(({ roleRef }) => roleRef !== undefined);
  const own = new Set(ours.flatMap(subjectsOf));
  const isBinding = (object: ManifestObject) => roles.some(role => isOf(object, role));
  const [bindings = [], inNamespaces = [], aggregating = []] = await allPermitted([
    list({ apiVersion: RBAC, kind: 'ClusterRoleBinding' }, isBinding),
    list({ apiVersion: RBAC, kind: 'RoleBinding' }, isBinding),
    list({ apiVersion: RBAC, kind: 'ClusterRole' }, ({ aggregationRule }) => aggregationRule !== undefined),
  ]);
  return roles.flatMap(role => {
    const bound = [...bindings, ...inNamespaces].flatMap(binding => {
      const others = subjectsOf(binding).filter(subject => !own.has(subject));
      if (!isOf(binding, role) || others.length === 0) return [];
      return [{ text: `${textOf(binding)} binds ${textOf(role)} to ${firstFew(others, MAX_NAMED)}`, of: binding }];
    });
    const aggregated = aggregating
      .filter(other => aggregates(other, role, live[objects.indexOf(role)]))
      .map(other => ({ text: `${textOf(other)} aggregates ${textOf(role)} by labels that others have set`, of: role }));
    const isControllers = ours.some(binding => isOf(binding, role));
    return [...bound, ...aggregated].map(({ text, of }) => ({ text, next: deletionOf(of), isControllers }));
  });
}

function addedGrants(wanted: ManifestObject, live: ManifestObject | undefined): AccessQuestion[] {
  const has = new Set((live === undefined ? [] : grantsOf(live)).map(grant => JSON.stringify(grant)));
  return grantsOf(wanted).filter(grant => !has.has(JSON.stringify(grant)));
}

/** Who may run pods or create tokens in the controller's namespace before its role is filled has its rights after that. */
function earlierNamespace(objects: readonly ManifestObject[], live: readonly (ManifestObject | undefined)[]): string[] {
  const namespace = live.find(object => object?.kind === 'Namespace');
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return [];
  const added = objects.flatMap((wanted, at) => addedGrants(wanted, live[at]));
  // What makes it the controller: later versions and flags add others.
  if (!added.some(({ verb, resource }) => verb === 'patch' && resource === 'nodes')) return [];
  const who = 'who may run pods or create tokens in it gets the rights of the controller';
  return [`namespace ${namespace.metadata.name} exists before the controller: ${who}`];
}

function refusal(kind: 'input' | 'cluster', message: string, [first]: readonly Share[]): NodepoolError {
  return new NodepoolError(kind, message, `${first?.next}, then run the command again`);
}

function textsOf(shares: readonly Share[]): string {
  return firstFew(
    shares.map(({ text }) => text),
    MAX_NAMED,
    '; ',
    '; ',
  );
}

/** By labels that others have set: they stay when the role is applied. */
function aggregates(
  { aggregationRule }: ManifestObject,
  role: ManifestObject,
  live: ManifestObject | undefined,
): boolean {
  if (role.kind !== 'ClusterRole' || !isObject(aggregationRule)) return false;
  const { clusterRoleSelectors } = aggregationRule;
  const selectors: LabelQuery[] = Array.isArray(clusterRoleSelectors) ? clusterRoleSelectors.filter(isObject) : [];
  const ours = labelsOf(role);
  const all = { ...labelsOf(live), ...ours };
  return selectors.some(selector => matchesQuery(selector, all) && !matchesQuery(selector, ours));
}

function labelsOf(object: ManifestObject | undefined): Record<string, string> {
  return { ...(object?.metadata.labels as Record<string, string> | undefined) };
}

function isOf({ metadata: { namespace }, roleRef }: ManifestObject, role: ManifestObject): boolean {
  if (!isObject(roleRef) || roleRef.kind !== role.kind || roleRef.name !== role.metadata.name) return false;
  return role.kind === 'ClusterRole' || namespace === role.metadata.namespace;
}

function subjectsOf({ subjects }: ManifestObject): string[] {
  const known: Record<string, unknown>[] = Array.isArray(subjects) ? subjects.filter(isObject) : [];
  return known.map(({ kind, name, namespace }) =>
    [`${kind} ${name}`, ...(namespace === undefined ? [] : [`in namespace ${namespace}`])].join(' '),
  );
}

/** RBAC takes any name, also one with spaces or that looks like a flag: such a one is in no command that is pasted. */
function deletionOf(object: ManifestObject): string {
  const { name, namespace } = object.metadata;
  if (!/^[a-z0-9][\w.:@-]*$/i.test(name)) return `delete ${textOf(object)}`;
  return `kubectl delete ${resourceOf(object.kind).slice(0, -1)} ${namespace === undefined ? '' : `-n ${namespace} `}${name}`;
}
