/**
 * Objects that have a name of ours and are somebody else's: they are neither taken over nor deleted (docs/decisions/0056).
 * Every object of manifests/controller.yaml has the label app.kubernetes.io/name, and so had those of earlier versions. An
 * object whose manifest has no such label, as the CRD and the policies, is ours by its name, which ends with our API group.
 *
 * Also here: objects of a Helm release, which are left to Helm, and whether `nodepools` means ours alone.
 */
import type { ManifestObject, ManifestsPort } from '../../../kube/resources/manifests.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject, ownValue } from '../../../nodepool/json.ts';
import { noun, resourceOf } from '../../../nodepool/text.ts';
import { type CheckFinding, named, ok, warning } from '../check.ts';
import { valueOrRefusal } from '../refusals.ts';

const NAME_LABEL = 'app.kubernetes.io/name';

/** @param wanted as in the manifest @param live as the server has it; undefined when there is none */
export function isForeign(wanted: ManifestObject, live: ManifestObject | undefined): boolean {
  const label = labelOf(wanted);
  return live !== undefined && label !== undefined && labelOf(live) !== label;
}

/** Throws a NodepoolError that names those that are somebody else's, before anything is written. */
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

// Objects of a Helm release are left to Helm: it would put back what is deleted, and undo what is changed, at its next upgrade.

const MANAGED_BY = 'app.kubernetes.io/managed-by';
const RELEASE = 'meta.helm.sh/release-name';
const NAMESPACE = 'meta.helm.sh/release-namespace';

const CHART = 'oci://ghcr.io/lailin-xyz/charts/kubectl-nodepool';

export interface HelmRelease {
  name: string;
  namespace: string;
}

/** The release that the object says it belongs to. @param live as the server returned it; undefined when there is none */
export function helmReleaseOf(live: unknown): HelmRelease | undefined {
  if (!isObject(live) || !isObject(live.metadata)) return undefined;
  const { labels, annotations } = live.metadata;
  if (!isObject(labels) || !isObject(annotations) || labels[MANAGED_BY] !== 'Helm') return undefined;
  return { name: String(annotations[RELEASE]), namespace: String(annotations[NAMESPACE]) };
}

/** The command that puts the objects of the release back. */
export function helmUpgrade({ name, namespace }: HelmRelease): string {
  return `helm upgrade ${name} ${CHART} --namespace ${namespace} --reuse-values`;
}

/** Throws where the object belongs to a Helm release, with Helm's command. @param live undefined when there is none */
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

/** As kubectl names an object in its messages: `deployment.apps/name`. */
export function nameOf(object: ManifestObject): string {
  return `${kindOf(object)}/${object.metadata.name}`;
}

/** As kubectl names a deleted object: `deployment.apps "name"`. */
export function quotedNameOf(object: ManifestObject): string {
  return `${kindOf(object)} "${object.metadata.name}"`;
}

function kindOf({ apiVersion, kind }: ManifestObject): string {
  const [group] = apiVersion.split('/');
  return group === apiVersion ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
}

// Whether `nodepools` means ours alone: Karpenter and HyperShift have a resource of the same name.

/** What to write where another API group serves nodepools. */
const USE_FULL_NAME = 'with kubectl, use `npool` or `nodepools.nodes.lailin.xyz`';

/** What the ClusterRoles for people were called before. */
const FORMER_ROLES = ['nodepool-view', 'nodepool-edit'];

/** Those of FORMER_ROLES that are ours and still there; none where they may not be read. */
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

/** @param others the other API groups that serve nodepools @param former see formerRoles() */
export function checkNames(others: readonly string[], former: readonly string[] = []): CheckFinding {
  const formerText = `left over from an earlier version: ${noun(former.length, 'ClusterRole')} ${named(former)}`;
  const remove = `bind users to nodepool.lailin.xyz:view and nodepool.lailin.xyz:edit instead, then run: kubectl delete clusterrole ${former.join(' ')}`;
  if (others.length > 0) {
    const message = `${named(others)} also serves nodepools: \`kubectl get nodepools\` may show the other resource`;
    return warning(message, USE_FULL_NAME, former.length === 0 ? [] : [`${formerText}; ${remove}`]);
  }
  return former.length === 0 ? ok('no other API group serves nodepools') : warning(formerText, remove);
}
