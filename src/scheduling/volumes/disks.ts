/** Disks that are named in a pod itself, and that a node mounts for one pod alone (volumerestrictions of kube-scheduler). */
import type { RawVolume } from '../pod/raw-pod.ts';
import type { Reason } from '../reason.ts';
import type { Disk } from '../types.ts';

const NONE: readonly Disk[] = [];

export function disksOf(volumes: readonly RawVolume[] | undefined): readonly Disk[] {
  let disks: Disk[] | undefined;
  for (const { gcePersistentDisk: gce, awsElasticBlockStore: aws, iscsi, rbd } of volumes ?? []) {
    if ((gce ?? aws ?? iscsi ?? rbd) === undefined) continue;
    disks ??= [];
    if (gce) disks.push({ kind: 'gce', id: gce.pdName ?? '', monitors: [], readOnly: gce.readOnly ?? false });
    if (aws) disks.push({ kind: 'aws', id: aws.volumeID ?? '', monitors: [], readOnly: false });
    if (iscsi) disks.push({ kind: 'iscsi', id: iscsi.iqn ?? '', monitors: [], readOnly: iscsi.readOnly ?? false });
    if (rbd) {
      const { monitors = [], pool = 'rbd', image = '', readOnly = false } = rbd;
      disks.push({ kind: 'rbd', id: `${pool}/${image}`, monitors, readOnly });
    }
  }
  return disks ?? NONE;
}

export function disksClash(asked: readonly Disk[], mounted: readonly Disk[]): Disk | undefined {
  return asked.find(disk => mounted.some(other => isSameDisk(disk, other) && !(disk.readOnly && other.readOnly)));
}

export function judgeDisks(asked: readonly Disk[], mounted: readonly Disk[]): Reason | undefined {
  const clash = disksClash(asked, mounted);
  if (clash === undefined) return undefined;
  return { rule: 'disks', words: 'node(s) had no available disk', detail: `${clash.kind} ${clash.id} is mounted` };
}

function isSameDisk(a: Disk, b: Disk): boolean {
  if (a.kind !== b.kind || a.id !== b.id) return false;
  return a.kind !== 'rbd' || a.monitors.some(monitor => b.monitors.includes(monitor));
}
