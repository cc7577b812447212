/** Whether `nodepools` means ours alone: Karpenter and HyperShift have a resource of the same name. */

import type { ManifestObject, ManifestsPort } from '../../../kube/resources/manifests.ts';
import { noun } from '../../../nodepool/text.ts';
import { attempt } from '../attempt.ts';
import { type Finding, named, ok, warning } from '../check.ts';
import { isForeign } from './foreign-objects.ts';

/** What to write where another API group serves nodepools. */
export const USE_FULL_NAME = 'with kubectl, write `npool` or `nodepools.nodes.lailin.xyz`';

/** What the ClusterRoles for people were called before. */
const FORMER_ROLES = ['nodepool-view', 'nodepool-edit'];

/** Those of FORMER_ROLES that are ours and still there; none where they may not be read. */
export async function formerRoles(
  manifest: readonly ManifestObject[],
  { get }: Pick<ManifestsPort, 'get'>,
): Promise<string[]> {
  const role = manifest.find(({ kind }) => kind === 'ClusterRole');
  if (role === undefined) return [];
  const live = await attempt(() => Promise.all(FORMER_ROLES.map(name => get({ ...role, metadata: { name } }))));
  if ('refusal' in live) return [];
  return live.value.flatMap(found => (found === undefined || isForeign(role, found) ? [] : [found.metadata.name]));
}

/** @param others the other API groups that serve nodepools @param former see formerRoles() */
export function checkNames(others: readonly string[], former: readonly string[] = []): Finding {
  const left = `left of an earlier version: ${noun(former.length, 'ClusterRole')} ${named(former)}`;
  const remove = `bind people to nodepool.lailin.xyz:view and nodepool.lailin.xyz:edit instead, then: kubectl delete clusterrole ${former.join(' ')}`;
  if (others.length > 0) {
    const message = `${named(others)} also serves nodepools: \`kubectl get nodepools\` may show those`;
    return warning(message, USE_FULL_NAME, former.length === 0 ? [] : [`${left}; ${remove}`]);
  }
  return former.length === 0 ? ok('no other API group serves nodepools') : warning(left, remove);
}
