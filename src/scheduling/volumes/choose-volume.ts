/** Which volume a claim is bound to on a node (FindMatchingVolume of k8s.io/component-helpers/storage/volume). */
import { matchesTerm, type NodeTerm } from '../../nodepool/drain/placement.ts';
import { own } from '../../nodepool/json.ts';
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

// Where a volume is: its node affinity, and the zone of its labels (volumebinding and volumezone of kube-scheduler).

const ZONE_LABELS = [
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
] as const;
const STABLE_KEYS: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
};

/** As Kubernetes writes volumes of several zones. */
const SEPARATOR = '__';

/** Whether a pod of the node can use the volume. */
export function isWithin(volume: Volume, node: Node): boolean {
  return isReachable(volume.nodeTerms, node) && otherZone(volume, node) === undefined;
}

/** The label of the volume that the node has not, as `key=value`. A node without a zone is in any. */
export function otherZone(volume: Volume, { labels }: Node): string | undefined {
  if (!ZONE_LABELS.some(key => own(labels, key) !== undefined)) return undefined;
  for (const [key, zones] of zonesOf(volume.labels)) {
    const zone = own(labels, key) ?? own(labels, STABLE_KEYS[key] ?? key);
    if (zone === undefined || !zones.includes(zone)) return `${key}=${zones.join(SEPARATOR)}`;
  }
  return undefined;
}

/** The zones and regions of a volume, by label. */
export function zonesOf(labels: Readonly<Record<string, string>> = {}): [key: string, zones: string[]][] {
  return ZONE_LABELS.flatMap(key => {
    const zones = own(labels, key);
    return zones === undefined ? [] : [[key, zones.split(SEPARATOR)] as [string, string[]]];
  });
}
