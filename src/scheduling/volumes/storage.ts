/** Claims, volumes and storage classes, reduced to what affects where a pod that uses them can be scheduled. */
import type { NodeTerm } from '../../nodepool/drain/placement.ts';
import type { LabelQuery } from '../../nodepool/membership/label-query.ts';
import { parseQuantity, type Quantity, QuantityError } from '../../nodepool/quantity/quantity.ts';
import type { ResourceList } from '../../nodepool/types.ts';
import type { RawClaimSpec, RawVolume } from '../pod/raw-pod.ts';
import type { Disk, UnfitReason } from '../types.ts';

export interface Storage {
  /** By `namespace/name`. */
  claims: ReadonlyMap<string, Claim>;
  volumes: ReadonlyMap<string, Volume>;
  classes: ReadonlyMap<string, StorageClass>;
}

export const NO_STORAGE: Storage = { claims: new Map(), volumes: new Map(), classes: new Map() };

export interface Claim {
  namespace: string;
  name: string;
  uid: string;
  /** Empty: none. */
  volumeName: string;
  /** Both sides of the binding are set. */
  isBound: boolean;
  phase: string;
  isDeleting: boolean;
  /** Empty: none. */
  className: string;
  accessModes: readonly string[];
  size: Quantity;
  volumeMode: string;
  attributesClass: string;
  selector: LabelQuery | undefined;
  /** The node that the scheduler has already chosen. */
  selectedNode: string | undefined;
}

export interface Volume {
  name: string;
  labels: Record<string, string>;
  className: string;
  accessModes: readonly string[];
  size: Quantity;
  volumeMode: string;
  attributesClass: string;
  phase: string;
  isDeleting: boolean;
  /** Required node affinity terms; undefined: every node. */
  nodeTerms: readonly NodeTerm[] | undefined;
  claimRef: { namespace: string; name: string; uid: string } | undefined;
  /** The field of an in-tree driver that CSI replaces, such as `awsElasticBlockStore`. */
  migrated: string | undefined;
}

export interface StorageClass {
  name: string;
  provisioner: string;
  /** volumeBindingMode is WaitForFirstConsumer. */
  waits: boolean;
  allowedTopologies: { key: string; values: readonly string[] }[][];
  isDefault: boolean;
  /** RFC 3339 in UTC. */
  created: string;
}

interface RawMeta {
  name?: string;
  namespace?: string;
  uid?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: unknown;
}

export interface RawClaim {
  metadata?: RawMeta;
  spec?: RawClaimSpec;
  status?: { phase?: string };
}

export interface RawVolumeObject {
  metadata?: RawMeta;
  spec?: {
    accessModes?: string[];
    capacity?: ResourceList;
    claimRef?: { namespace?: string; name?: string; uid?: string };
    nodeAffinity?: { required?: { nodeSelectorTerms?: NodeTerm[] } };
    storageClassName?: string;
    volumeMode?: string;
    volumeAttributesClassName?: string;
  } & Partial<Record<(typeof MIGRATED)[number], object>>;
  status?: { phase?: string };
}

/** Fields of a PersistentVolume (k8s.io/csi-translation-lib). */
const MIGRATED = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cinder',
  'gcePersistentDisk',
  'portworxVolume',
  'vsphereVolume',
] as const;

export interface RawStorageClass {
  metadata?: RawMeta;
  provisioner?: string;
  volumeBindingMode?: string;
  allowedTopologies?: { matchLabelExpressions?: { key?: string; values?: string[] }[] }[];
}

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const BOUND_ANNOTATION = 'pv.kubernetes.io/bind-completed';
const NODE_ANNOTATION = 'volume.kubernetes.io/selected-node';
const DEFAULT_ANNOTATIONS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

export function readClaim({ metadata = {}, spec = {}, status = {} }: RawClaim): Claim {
  const { namespace = '', name = '', uid = '', annotations = {} } = metadata;
  const volumeName = spec.volumeName ?? '';
  return {
    ...{ namespace, name, uid, volumeName },
    isBound: volumeName !== '' && annotations[BOUND_ANNOTATION] !== undefined,
    phase: status.phase ?? '',
    isDeleting: isSet(metadata.deletionTimestamp),
    className: annotations[CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
    accessModes: spec.accessModes ?? [],
    size: sizeOf(spec.resources?.requests),
    volumeMode: spec.volumeMode ?? 'Filesystem',
    attributesClass: spec.volumeAttributesClassName ?? '',
    selector: spec.selector,
    selectedNode: annotations[NODE_ANNOTATION],
  };
}

export function readVolume({ metadata = {}, spec = {}, status = {} }: RawVolumeObject): Volume {
  const { claimRef, nodeAffinity } = spec;
  const { namespace = '', name = '', uid = '' } = claimRef ?? {};
  return {
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    className: metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
    accessModes: spec.accessModes ?? [],
    size: sizeOf(spec.capacity),
    volumeMode: spec.volumeMode ?? 'Filesystem',
    attributesClass: spec.volumeAttributesClassName ?? '',
    phase: status.phase ?? '',
    isDeleting: isSet(metadata.deletionTimestamp),
    nodeTerms: nodeAffinity?.required && (nodeAffinity.required.nodeSelectorTerms ?? []),
    claimRef: claimRef && { namespace, name, uid },
    migrated: MIGRATED.find(field => spec[field] !== undefined),
  };
}

export function readStorageClass(raw: RawStorageClass): StorageClass {
  const { metadata = {}, provisioner = '', volumeBindingMode, allowedTopologies = [] } = raw;
  return {
    name: metadata.name ?? '',
    provisioner,
    waits: volumeBindingMode === 'WaitForFirstConsumer',
    allowedTopologies: allowedTopologies.map(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.map(({ key = '', values = [] }) => ({ key, values })),
    ),
    isDefault: DEFAULT_ANNOTATIONS.some(key => metadata.annotations?.[key] === 'true'),
    created: metadata.creationTimestamp ?? '',
  };
}

/** Zero for an invalid size. */
function sizeOf(list: ResourceList | undefined): Quantity {
  try {
    return parseQuantity(list?.storage ?? '0');
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return parseQuantity('0');
  }
}

function isSet(time: unknown): boolean {
  return time !== undefined && time !== null;
}

// Disks that a pod names directly and that a node mounts for only one pod (volumerestrictions of kube-scheduler).

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

export function disksClash(requested: readonly Disk[], mounted: readonly Disk[]): Disk | undefined {
  return requested.find(disk => mounted.some(other => isSameDisk(disk, other) && !(disk.readOnly && other.readOnly)));
}

export function judgeDisks(requested: readonly Disk[], mounted: readonly Disk[]): UnfitReason | undefined {
  const clash = disksClash(requested, mounted);
  if (clash === undefined) return undefined;
  return { rule: 'disks', words: 'node(s) had no available disk', detail: `${clash.kind} ${clash.id} is mounted` };
}

function isSameDisk(a: Disk, b: Disk): boolean {
  if (a.kind !== b.kind || a.id !== b.id) return false;
  return a.kind !== 'rbd' || a.monitors.some(monitor => b.monitors.includes(monitor));
}
