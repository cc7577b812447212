/**
 * Taints and labels by which other software marks a temporary state of a node: an agent is not ready yet, an update
 * runs, the node is about to be removed. No pool strips, restores, adopts or repairs them (docs/decisions/0057).
 *
 * Not guaranteed: that the list is complete. More keys come from a flag and from an annotation of the pool; and two
 * rules need no list: see merge-slots.ts and no-execute.ts.
 */
import type { Warning } from '../errors.ts';
import { ownValue } from '../json.ts';
import type { FieldError } from '../spec/field-error.ts';
import { keyProblem } from '../spec/syntax.ts';
import { taintId } from '../spec/taints.ts';
import { type Node, type NodePool, TRANSIENT_KEYS_ANNOTATION } from '../types.ts';
import type { AppliedRecord, AppliedSlot } from './record.ts';

/** The purpose of the state: see PURPOSES. */
export type TransientPhase = 'startup' | 'update' | 'removal' | 'failure' | 'state';

export interface TransientState {
  /** A key, `DOMAIN/*`, or `*ENDING`. */
  key: string;
  what: 'taint' | 'label';
  /** The software that sets it; the source of the entry is the project's documentation or code. */
  project: string;
  phase: TransientPhase;
}

export const PURPOSES: Readonly<Record<TransientPhase, string>> = {
  startup: 'until an agent on the node is ready',
  update: 'while the node is updated or under maintenance',
  removal: 'before the node is removed',
  failure: 'while the node has failed',
  state: 'to describe a changing state',
};

function entries(
  what: TransientState['what'],
  phase: TransientPhase,
  keys: Readonly<Record<string, readonly string[]>>,
): TransientState[] {
  return Object.entries(keys).flatMap(([project, all]) => all.map(key => ({ key, what, project, phase })));
}

/** By project. If several entries match a key, the most specific entry counts. */
export const TRANSIENT_STATES: readonly TransientState[] = [
  ...entries('taint', 'startup', {
    'Cluster Autoscaler': [
      'ignore-taint.cluster-autoscaler.kubernetes.io/*',
      'startup-taint.cluster-autoscaler.kubernetes.io/*',
    ],
    Karpenter: ['karpenter.sh/unregistered'],
    Cilium: ['node.cilium.io/agent-not-ready'],
    'AWS EBS CSI driver': ['ebs.csi.aws.com/agent-not-ready'],
    'AWS EFS CSI driver': ['efs.csi.aws.com/agent-not-ready'],
    'AWS FSx CSI driver': ['fsx.csi.aws.com/agent-not-ready'],
    'AWS S3 CSI driver': ['s3.csi.aws.com/agent-not-ready'],
    'Azure Disk CSI driver': ['disk.csi.azure.com/agent-not-ready'],
    'Azure File CSI driver': ['file.csi.azure.com/agent-not-ready'],
    Istio: ['cni.istio.io/not-ready'],
    'OVN-Kubernetes': ['k8s.ovn.org/network-unavailable'],
    Nidhogg: ['nidhogg.uswitch.com/*'],
    Gardener: ['node.gardener.cloud/critical-components-not-ready'],
    'Cluster API': ['node.cluster.x-k8s.io/uninitialized'],
    'Node Readiness Controller': ['readiness.k8s.io/*'],
    'a cloud controller manager': ['node.cloudprovider.kubernetes.io/uninitialized'],
    // By convention.
    'an agent of the node': ['*not-ready', '*uninitialized'],
  }),
  ...entries('taint', 'update', {
    kOps: ['kops.k8s.io/scheduled-for-update'],
    kured: ['weave.works/kured-node-reboot', 'kured.dev/*'],
    'Machine Config Operator': ['UpdateInProgress'],
    Gardener: ['deployment.machine.sapcloud.io/prefer-no-schedule'],
    'Cluster API': ['node.cluster.x-k8s.io/outdated-revision'],
    'Node Maintenance Operator (medik8s)': ['medik8s.io/drain'],
    KubeVirt: ['kubevirt.io/drain'],
    'AWS Node Termination Handler': ['aws-node-termination-handler/scheduled-maintenance'],
    'an agent of the node': ['*unschedulable'],
  }),
  ...entries('taint', 'removal', {
    'Cluster Autoscaler': ['ToBeDeletedByClusterAutoscaler'],
    Karpenter: ['karpenter.sh/disrupted', 'karpenter.sh/disruption'],
    'CAST AI': ['autoscaling.cast.ai/draining'],
    GKE: ['cloud.google.com/impending-node-termination'],
    AKS: ['remediator.kubernetes.azure.com/unschedulable', 'remediator.aks.microsoft.com/unschedulable'],
    'AWS Node Termination Handler': ['aws-node-termination-handler/*'],
    'a cloud controller manager': ['node.cloudprovider.kubernetes.io/shutdown'],
  }),
  ...entries('taint', 'failure', {
    'self-node-remediation and fence-agents-remediation (medik8s)': ['medik8s.io/*'],
    'LINSTOR HA Controller': ['drbd.linbit.com/*'],
    'an administrator': ['node.kubernetes.io/out-of-service'],
  }),
  ...entries('taint', 'state', {
    'Cluster Autoscaler': ['DeletionCandidateOfClusterAutoscaler', 'status-taint.cluster-autoscaler.kubernetes.io/*'],
  }),
  ...entries('label', 'update', {
    'NVIDIA GPU Operator': [
      'nvidia.com/gpu-driver-upgrade-state',
      'nvidia.com/mig.config.state',
      'nvidia.com/vgpu.config.state',
      // Paused while a driver or the partition of the GPU changes. gpu.deploy.operands belongs to the administrator.
      ...[
        'container-toolkit',
        'dcgm',
        'dcgm-exporter',
        'device-plugin',
        'driver',
        'gpu-feature-discovery',
        'mig-manager',
        'node-status-exporter',
        'nvsm',
        'operator-validator',
        'sandbox-device-plugin',
        'sandbox-validator',
        'vfio-manager',
        'vgpu-device-manager',
        'vgpu-manager',
      ].map(component => `nvidia.com/gpu.deploy.${component}`),
    ],
    'NVIDIA Network Operator': ['nvidia.com/ofed-driver-upgrade-state', 'network.nvidia.com/operator.mofed.wait'],
    'AMD GPU Operator': ['operator.amd.com/gpu-driver-upgrade-state'],
    'Flatcar Linux Update Operator': ['flatcar-linux-update.v1.flatcar-linux.net/*'],
    'System Upgrade Controller': ['plan.upgrade.cattle.io/*'],
    Gardener: ['node.machine.sapcloud.io/*'],
  }),
  ...entries('label', 'removal', {
    'CAST AI': ['autoscaling.cast.ai/draining'],
    'AWS Node Termination Handler': ['aws-node-termination-handler/*'],
  }),
  ...entries('label', 'state', {
    KubeVirt: ['kubevirt.io/schedulable'],
    'AWS VPC Resource Controller': ['vpc.amazonaws.com/has-trunk-attached'],
  }),
];

/** The project name for keys that are not in the list. */
const OTHERS = 'other software';

const BY_KEY = new Map(TRANSIENT_STATES.map(state => [`${state.what} ${state.key}`, state]));
const ENDINGS = TRANSIENT_STATES.filter(({ key }) => key.startsWith('*'));

/** The list entry for the key of a taint or label. */
export function transientState(what: TransientState['what'], key: string): TransientState | undefined {
  const slash = key.indexOf('/');
  return (
    BY_KEY.get(`${what} ${key}`) ??
    (slash < 0 ? undefined : BY_KEY.get(`${what} ${key.slice(0, slash)}/*`)) ??
    ENDINGS.find(entry => entry.what === what && key.endsWith(entry.key.slice(1)))
  );
}

/** Whether the key is in the list or matches one of the additional patterns, each a key or `DOMAIN/*`. */
export function isTransient(what: TransientState['what'], key: string, more: readonly string[] = []): boolean {
  return more.some(pattern => isMatch(pattern, key)) || transientState(what, key) !== undefined;
}

function isMatch(pattern: string, key: string): boolean {
  return pattern.endsWith('/*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern;
}

/**
 * Whether the node is being removed by its owner: an autoscaler, a shutdown, a reclaimed spot instance.
 * @param record of the pool: keys that the pool sets, or has set, do not count
 */
export function isBeingRemoved(
  { taints, labels }: Pick<Node, 'taints' | 'labels'>,
  pool: Pick<NodePool, 'spec'>,
  record?: AppliedRecord,
): boolean {
  const isRemoval = (what: TransientState['what'], key: string) =>
    transientState(what, key)?.phase === 'removal' && !isGiven(what, key, pool, record);
  return taints.some(({ key }) => isRemoval('taint', key)) || Object.keys(labels).some(key => isRemoval('label', key));
}

/**
 * Whether maintenance may be why a node is NotReady: it is cordoned, updated, or has a key of the pool's annotation or
 * the flag, whose meaning is unknown. Listed labels do not count: they may outlast their state.
 * @param record as in isBeingRemoved()
 */
export function isInterrupted(
  { taints, labels, unschedulable }: Pick<Node, 'taints' | 'labels' | 'unschedulable'>,
  pool: Pick<NodePool, 'spec'>,
  more: readonly string[],
  record?: AppliedRecord,
): boolean {
  if (unschedulable) return true;
  const isNamed = (key: string) => more.some(pattern => isMatch(pattern, key));
  const isUpdate = (key: string) => transientState('taint', key)?.phase === 'update' || isNamed(key);
  return (
    taints.some(({ key }) => isUpdate(key) && !isGiven('taint', key, pool, record)) ||
    Object.keys(labels).some(key => isNamed(key) && !isGiven('label', key, pool, record))
  );
}

function isGiven(
  what: TransientState['what'],
  key: string,
  { spec }: Pick<NodePool, 'spec'>,
  record: AppliedRecord | undefined,
): boolean {
  if (what === 'label')
    return ownValue(spec.labels ?? {}, key) !== undefined || typeof record?.labels.get(key)?.value === 'string';
  if ([...(spec.taints ?? []), ...(spec.startupTaints ?? [])].some(taint => taint.key === key)) return true;
  if (record === undefined) return false;
  const applied = [...record.taints].map(([id, { value }]) => [id, value] as const);
  return [...applied, ...record.startup].some(([id, value]) => value !== null && id.startsWith(`${key}:`));
}

/** More keys are a mistake; each key of a node is compared with each of them. */
const MAX_TRANSIENT_KEYS = 50;

/** The problem with a comma-separated list of patterns (flag or annotation); undefined if it is valid. */
export function transientKeysProblem(text: string): string | undefined {
  const patterns = split(text);
  if (patterns.length > MAX_TRANSIENT_KEYS) return `more than ${MAX_TRANSIENT_KEYS} keys`;
  for (const pattern of patterns) {
    // "*" alone, or within a name, could mean every key of the node.
    const problem = keyProblem(pattern.endsWith('/*') ? `${pattern.slice(0, -1)}x` : pattern);
    if (problem !== undefined) return `${problem}; write KEY or DOMAIN/*`;
  }
  return undefined;
}

/** Empty if the list is invalid. */
export function parseTransientKeys(text: string): string[] {
  return transientKeysProblem(text) === undefined ? split(text) : [];
}

function split(text: string): string[] {
  return text
    .split(',')
    .map(pattern => pattern.trim())
    .filter(pattern => pattern !== '');
}

const ofPools = new WeakMap<NodePool, readonly string[]>();

export function transientKeysOf(pool: NodePool | undefined): readonly string[] {
  const text = pool?.metadata.annotations?.[TRANSIENT_KEYS_ANNOTATION];
  if (pool === undefined || text === undefined) return NO_KEYS;
  const known = ofPools.get(pool);
  if (known !== undefined) return known;
  const keys = parseTransientKeys(text);
  ofPools.set(pool, keys);
  return keys;
}

const NO_KEYS: readonly string[] = [];

/** The problem with the pool's annotation. While it is invalid, no node is changed: its keys could be stripped. */
export function transientKeysErrors({ metadata }: NodePool): FieldError[] {
  const message = transientKeysProblem(metadata.annotations?.[TRANSIENT_KEYS_ANNOTATION] ?? '');
  return message === undefined ? [] : [{ field: `metadata.annotations[${TRANSIENT_KEYS_ANNOTATION}]`, message }];
}

/**
 * The pool without labels and taints of temporary states, for a node that is not young: it may have lost its record or
 * label for a moment, and the states are over. Those that the pool set, and that are live or still desired, stay.
 * @param applied as in the record of the pool; undefined if the node joins
 */
export function withoutPassed(
  pool: NodePool,
  node: Pick<Node, 'labels' | 'taints'>,
  applied: Pick<AppliedRecord, 'labels' | 'taints'> | undefined,
  birth: { isYoung: boolean },
  more: readonly string[] = NO_KEYS,
): NodePool {
  if (birth.isYoung || !namesAny(pool, more)) return pool;
  const { labels, taints, ...spec } = pool.spec;
  const isKept = (slot: AppliedSlot | undefined, to: string, live: string | undefined) =>
    slot !== undefined && (slot.value === to || slot.value === live);
  const entries = Object.entries(labels ?? {});
  const keptLabels = entries.filter(
    ([key, value]) => !isTransient('label', key, more) || isKept(applied?.labels.get(key), value, node.labels[key]),
  );
  const keptTaints = (taints ?? []).filter(taint => {
    if (!isTransient('taint', taint.key, more)) return true;
    const live = node.taints.find(each => taintId(each) === taintId(taint));
    return isKept(applied?.taints.get(taintId(taint)), taint.value ?? '', live && (live.value ?? ''));
  });
  if (keptLabels.length === entries.length && keptTaints.length === (taints ?? []).length) return pool;
  return { ...pool, spec: { ...spec, labels: Object.fromEntries(keptLabels), taints: keptTaints } };
}

const naming = new WeakMap<NodePool, { more: readonly string[]; names: boolean }>();

/** Whether the spec has such a key. Cached: few have one, and each plan needs it. */
function namesAny(pool: NodePool, more: readonly string[]): boolean {
  const known = naming.get(pool);
  if (known?.more === more) return known.names;
  const names = transientKeysIn(pool, more).length > 0;
  naming.set(pool, { more, names });
  return names;
}

/** Labels and taints of the spec that mark a temporary state: the pool sets them, other software removes them. */
export function transientKeysIn(pool: NodePool, more: readonly string[] = []): TransientState[] {
  const { labels = {}, taints = [] } = pool.spec;
  const own = [...more, ...transientKeysOf(pool)];
  const found = (what: TransientState['what'], key: string): TransientState[] => {
    const state = transientState(what, key);
    if (state !== undefined) return [{ ...state, key }];
    return isTransient(what, key, own) ? [{ key, what, project: OTHERS, phase: 'state' }] : [];
  };
  return [
    ...new Set(Object.keys(labels).toSorted()).values().flatMap(key => found('label', key)),
    ...new Set(taints.map(({ key }) => key)).values().flatMap(key => found('taint', key)),
  ];
}

/** `the taint b, which Cilium sets until an agent on the node is ready` */
export function transientText({ what, key, project, phase }: TransientState): string {
  return `the ${what} ${key} (${project} sets it ${PURPOSES[phase]})`;
}

/** `pool a sets the taint b, which Cilium sets until an agent on the node is ready: …` */
export function transientKeyWarning({ metadata }: NodePool, state: TransientState): Warning {
  return {
    message: `pool ${metadata.name} sets ${transientText(state)}: nodes get it once, when they register`,
    next: mayBeStartup(state) ? 'use spec.startupTaints, or remove it from the pool' : 'remove it from the pool',
  };
}

/** Update, removal and failure are no states of a newly registered node; other keys may mean anything. */
function mayBeStartup({ what, phase, project }: TransientState): boolean {
  return what === 'taint' && (phase === 'startup' || project === OTHERS);
}

/** Warns about startup taints with a key by which other software marks another state than a node's start. */
export function startupKeyWarnings({ metadata, spec }: NodePool): Warning[] {
  const keys = new Set((spec.startupTaints ?? []).map(({ key }) => key));
  return [...keys].flatMap(key => {
    const state = transientState('taint', key);
    if (state === undefined || mayBeStartup(state)) return [];
    const message = `pool ${metadata.name} sets ${transientText({ ...state, key })} on new nodes`;
    return { message, next: 'remove it from spec.startupTaints' };
  });
}
