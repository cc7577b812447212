/** Objects of a Helm release are left to Helm: it would put back what is deleted, and undo what is changed, at its next upgrade. */
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject } from '../../../nodepool/json.ts';

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

/**
 * Throws a NodepoolError that names Helm's command if the object belongs to a release.
 * @param live as the server returned it; undefined when there is none
 */
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
