/** Where a volume is: its node affinity, and the zone of its labels (volumebinding and volumezone of kube-scheduler). */
import { own } from '../../nodepool/json.ts';
import type { Node } from '../../nodepool/types.ts';
import { isReachable } from './choose-volume.ts';
import type { Volume } from './storage.ts';

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
