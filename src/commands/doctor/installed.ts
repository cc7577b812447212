/** The controller in the cluster, as its Deployment tells. */
import type { ManifestObject } from '../../kube/connection.ts';
import { isObject } from '../../nodepool/json.ts';
import { helmReleaseOf, helmUpgrade } from '../shared/install/foreign-objects.ts';

/** The live Deployment; undefined when the controller is not installed. */
export type FindDeployment = () => Promise<ManifestObject | undefined>;

/** How the controller's objects are put back: by what installed them. */
export function reinstallRemedy(deployment: ManifestObject): string {
  const release = helmReleaseOf(deployment);
  return release === undefined
    ? 'run `kubectl nodepool install --controller --image IMAGE` again, with the image that runs'
    : `run \`${helmUpgrade(release)}\`, with the version that is installed`;
}

/** How the controller is allowed to evict pods. */
export function evictionsFlag(deployment: ManifestObject): string {
  return helmReleaseOf(deployment) === undefined ? '--evictions' : '--set evictions=true';
}

export function hasNoReplicas({ spec }: ManifestObject): boolean {
  return isObject(spec) && spec.replicas === 0;
}
