/** Objects of a Helm release are left to Helm: it would put back what is deleted, and undo what is changed, at its next upgrade. */
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject } from '../nodepool/json.ts';

const MANAGED_BY = 'app.kubernetes.io/managed-by';
const RELEASE = 'meta.helm.sh/release-name';
const NAMESPACE = 'meta.helm.sh/release-namespace';

/**
 * Throws a NodepoolError that names Helm's command if the object belongs to a release.
 * @param live as the server returned it; undefined when there is none
 */
export function refuseHelmRelease(live: unknown, command: 'install' | 'uninstall'): void {
  if (!isObject(live) || !isObject(live.metadata)) return;
  const { labels, annotations } = live.metadata;
  if (!isObject(labels) || !isObject(annotations) || labels[MANAGED_BY] !== 'Helm') return;
  const [release, namespace] = [String(annotations[RELEASE]), String(annotations[NAMESPACE])];
  const helm =
    command === 'uninstall'
      ? `helm uninstall ${release} --namespace ${namespace}`
      : `helm upgrade ${release} oci://ghcr.io/lailin-xyz/charts/kubectl-nodepool --namespace ${namespace}`;
  throw new NodepoolError(
    'input',
    `the controller belongs to the Helm release ${release} in namespace ${namespace}; nothing was changed`,
    `run \`${helm}\``,
  );
}
