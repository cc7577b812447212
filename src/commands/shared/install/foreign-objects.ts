/**
 * Objects that have one of our names but belong to others are neither taken over nor deleted (docs/decisions/0056).
 * Every object in manifests/controller.yaml has the label app.kubernetes.io/name, also in earlier versions. An object
 * whose manifest lacks it (CRD, policies) is ours by its name, which ends with our API group.
 *
 * Also here: objects of a Helm release, which are left to Helm, and whether `nodepools` is unambiguous.
 */
import type { ManifestObject, ManifestsPort } from '../../../kube/resources/manifests.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject, ownValue } from '../../../nodepool/json.ts';
import { noun, resourceOf } from '../../../nodepool/text.ts';
import { type CheckFinding, named, ok, warning } from '../check.ts';
import { valueOrRefusal } from '../refusals.ts';

const NAME_LABEL = 'app.kubernetes.io/name';

/** @param wanted the object in the manifest @param live the object on the server; undefined if there is none */
export function isForeign(wanted: ManifestObject, live: ManifestObject | undefined): boolean {
  const label = labelOf(wanted);
  return live !== undefined && label !== undefined && labelOf(live) !== label;
}

/** Throws a NodepoolError with the names of objects that belong to others, before anything is written. */
export function refuseForeign(objects: readonly ManifestObject[], live: readonly (ManifestObject | undefined)[]): void {
  const foreign = objects.filter((wanted, at) => isForeign(wanted, live[at]));
  const [first] = foreign;
  if (first === undefined) return;
  const { name, namespace } = first.metadata;
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const label = `${NAME_LABEL}=${labelOf(first)}`;
  throw new NodepoolError(
    'input',
    `${foreign.map(textOf).join(', ')} exists but was not created by kubectl nodepool (no label ${label}); nothing was changed`,
    `rename or delete it; or hand it over: kubectl label${where} ${resourceOf(first.kind)} ${name} ${label}`,
  );
}

export function textOf({ kind, metadata: { name, namespace } }: ManifestObject): string {
  return `${kind} ${name}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
}

function labelOf({ metadata }: ManifestObject): string | undefined {
  const value = isObject(metadata.labels) ? ownValue(metadata.labels, NAME_LABEL) : undefined;
  return typeof value === 'string' ? value : undefined;
}

// Objects of a Helm release are left to Helm, whose next upgrade would restore deleted objects and undo changes.

const MANAGED_BY = 'app.kubernetes.io/managed-by';
const RELEASE = 'meta.helm.sh/release-name';
const NAMESPACE = 'meta.helm.sh/release-namespace';

const CHART = 'oci://ghcr.io/lailin-xyz/charts/kubectl-nodepool';

export interface HelmRelease {
  name: string;
  namespace: string;
}

/** The Helm release that the object names. @param live as returned by the server; undefined if there is none */
export function helmReleaseOf(live: unknown): HelmRelease | undefined {
  if (!isObject(live) || !isObject(live.metadata)) return undefined;
  const { labels, annotations } = live.metadata;
  if (!isObject(labels) || !isObject(annotations) || labels[MANAGED_BY] !== 'Helm') return undefined;
  return { name: String(annotations[RELEASE]), namespace: String(annotations[NAMESPACE]) };
}

/** The command that restores the objects of the release. */
export function helmUpgrade({ name, namespace }: HelmRelease): string {
  return `helm upgrade ${name} ${CHART} --namespace ${namespace} --reuse-values`;
}

/** Throws, with Helm's command, if the object belongs to a Helm release. @param live undefined if there is none */
export function refuseHelmRelease(live: unknown, command: 'install' | 'uninstall'): void {
  const release = helmReleaseOf(live);
  if (release === undefined) return;
  const { name, namespace } = release;
  const helm = command === 'uninstall' ? `helm uninstall ${name} --namespace ${namespace}` : helmUpgrade(release);
  throw new NodepoolError(
    'input',
    `the controller belongs to the Helm release ${name} in namespace ${namespace}; nothing was changed`,
    `run \`${helm}\``,
  );
}

/** kubectl's name of an object in messages: `deployment.apps/name`. */
export function nameOf(object: ManifestObject): string {
  return `${kindOf(object)}/${object.metadata.name}`;
}

/** kubectl's name of a deleted object: `deployment.apps "name"`. */
export function quotedNameOf(object: ManifestObject): string {
  return `${kindOf(object)} "${object.metadata.name}"`;
}

function kindOf({ apiVersion, kind }: ManifestObject): string {
  const [group] = apiVersion.split('/');
  return group === apiVersion ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
}

// Whether `nodepools` is unambiguous: Karpenter and HyperShift have a resource of the same name.

/** What to write if another API group also serves nodepools. */
const USE_FULL_NAME = 'with kubectl, use `npool` or `nodepools.nodes.lailin.xyz`';

/** Earlier names of the ClusterRoles for users. */
const FORMER_ROLES = ['nodepool-view', 'nodepool-edit'];

/** The roles in FORMER_ROLES that are ours and still exist; empty if they may not be read. */
export async function formerRoles(
  manifest: readonly ManifestObject[],
  { get }: Pick<ManifestsPort, 'get'>,
): Promise<string[]> {
  const role = manifest.find(({ kind }) => kind === 'ClusterRole');
  if (role === undefined) return [];
  const live = await valueOrRefusal(() => Promise.all(FORMER_ROLES.map(name => get({ ...role, metadata: { name } }))));
  if ('refusal' in live) return [];
  return live.value.flatMap(found => (found === undefined || isForeign(role, found) ? [] : [found.metadata.name]));
}

/** @param others other API groups that serve nodepools @param former see formerRoles() */
export function checkNames(others: readonly string[], former: readonly string[] = []): CheckFinding {
  const formerText = `left over from an earlier version: ${noun(former.length, 'ClusterRole')} ${named(former)}`;
  const remove = `bind users to nodepool.lailin.xyz:view and nodepool.lailin.xyz:edit instead, then run: kubectl delete clusterrole ${former.join(' ')}`;
  if (others.length > 0) {
    const message = `${named(others)} also serves nodepools: \`kubectl get nodepools\` may show the other resource`;
    return warning(message, USE_FULL_NAME, former.length === 0 ? [] : [`${formerText}; ${remove}`]);
  }
  return former.length === 0 ? ok('no other API group serves nodepools') : warning(formerText, remove);
}
