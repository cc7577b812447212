/** Which volume a claim is bound to on a node (FindMatchingVolume of k8s.io/component-helpers/storage/volume). */

import { matchesTerm, type NodeTerm } from '../../nodepool/drain/placement.ts';
import { matchesQuery } from '../../nodepool/membership/label-query.ts';
import { compareQuantities } from '../../nodepool/quantity/quantity.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Claim, Volume } from './storage.ts';

/** The volume that is reserved for the claim, or else the smallest that suits. @param taken by other claims of the pod */
export function chooseVolume(
  claim: Claim,
  volumes: Iterable<Volume>,
  node: Node,
  taken: ReadonlySet<string>,
): Volume | undefined {
  let smallest: Volume | undefined;
  for (const volume of volumes) {
    const isReserved = isReservedFor(volume, claim);
    // The scheduler looks at volumes of the claim's class alone.
    if (taken.has(volume.name) || volume.className !== claim.className || volume.isDeleting) continue;
    if (volume.claimRef !== undefined && !isReserved) continue;
    if (compareQuantities(volume.size, claim.size) < 0 || volume.volumeMode !== claim.volumeMode) continue;
    if (volume.attributesClass !== claim.attributesClass) continue;
    const isHere = isReachable(volume.nodeTerms, node);
    if (isReserved) return isHere ? volume : undefined;
    if (volume.phase !== 'Available' || !isHere) continue;
    if (claim.selector !== undefined && !matchesQuery(claim.selector, volume.labels)) continue;
    if (!claim.accessModes.every(mode => volume.accessModes.includes(mode))) continue;
    if (smallest === undefined || compareQuantities(smallest.size, volume.size) > 0) smallest = volume;
  }
  return smallest;
}

/** As CheckNodeAffinity: a volume without terms is everywhere. Its terms see labels alone. */
export function isReachable(terms: readonly NodeTerm[] | undefined, { labels }: Node): boolean {
  return terms === undefined || terms.some(term => matchesTerm(term, { name: '', labels }));
}

function isReservedFor({ claimRef }: Volume, { namespace, name, uid }: Claim): boolean {
  if (claimRef === undefined || claimRef.name !== name || claimRef.namespace !== namespace) return false;
  return claimRef.uid === '' || claimRef.uid === uid;
}
