/** Where a volume is: its node affinity, and the zone of its labels (volumebinding and volumezone of kube-scheduler). */
import { own } from '../nodepool/json.ts';
import type { Node } from '../nodepool/types.ts';
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

/** Whether a pod of the node can use the volume. */
export function isWithin(volume: Volume, node: Node): boolean {
  return isReachable(volume.nodeTerms, node) && otherZone(volume, node) === undefined;
}

/** The label of the volume that the node has not, as `key=value`. A node without a zone is in any. */
export function otherZone(volume: Volume, { labels }: Node): string | undefined {
  if (!ZONE_LABELS.some(key => own(labels, key) !== undefined)) return undefined;
  for (const key of ZONE_LABELS) {
    const zones = own(volume.labels, key);
    if (zones === undefined) continue;
    const zone = own(labels, key) ?? own(labels, STABLE_KEYS[key] ?? key);
    // As Kubernetes writes volumes of several zones.
    if (zone === undefined || !zones.split('__').includes(zone)) return `${key}=${zones}`;
  }
  return undefined;
}
