/** The labels, taints and annotations that `adopt` copies into a pool: those of the group, not of single nodes. */

import { appendTo, isObject } from '../json.ts';
import { FIELD_MANAGER, managedAt, readManagedFields } from '../managed-fields.ts';
import { isTransient } from '../plan/transient-states.ts';
import { isPoolAnnotation } from '../spec/annotations.ts';
import { isSameTaint, MAX_TAINTS } from '../spec/taints.ts';
import { MAX_LABELS, validatePool } from '../spec/validation.ts';
import type { Node, NodePool, NodePoolSpec, Taint } from '../types.ts';

/**
 * Domains (and subdomains) whose owners set labels and annotations on every node: Kubernetes and its projects, cloud
 * providers, provisioners, CNI plugins and hardware discovery.
 */
const OWNED_DOMAINS = [
  'kubernetes.io',
  'k8s.io',
  'x-k8s.io',
  'k8s.aws',
  'amazonaws.com',
  'eksctl.io',
  'cloud.google.com',
  'googleapis.com',
  'gke.io',
  'azure.com',
  'digitalocean.com',
  'karpenter.sh',
  'linode.com',
  'oraclecloud.com',
  'alibabacloud.com',
  'aliyun.com',
  'scaleway.com',
  'hetzner.cloud',
  'vultr.com',
  'openshift.io',
  'cattle.io',
  'k3s.io',
  'csi.aws.com',
  'cilium.io',
  'projectcalico.org',
  'coreos.com',
  'ovn.org',
  'antrea.io',
  'nvidia.com',
  'amd.com',
  'intel.com',
  'kubevirt.io',
  'tencent.com',
  'microk8s.io',
  'k0sproject.io',
  'kured.dev',
  'weave.works',
];
/** The subdomain of kubernetes.io that NodeRestriction reserves for administrators. */
const ADMINISTRATORS_DOMAIN = 'node-restriction.kubernetes.io';
/** AKS sets these without a domain. */
const OWNED_KEYS = ['agentpool', 'storageprofile', 'storagetier'];

/** Whether a key is specific to single nodes. A key is a label key, `taint KEY` or `annotation KEY`. */
type IsNodeSpecific = (key: string) => boolean;
/** The annotations of a node that a pool may take over. */
type AnnotationsOf = (node: Node) => ReadonlyMap<string, string>;

/**
 * A key whose value differs within one group counts as node-specific in all other groups: a group of one node cannot
 * show the difference. Overlapping groups are not compared: any other way to divide the same nodes differs within them.
 */
export function nodeSpecificKeys(
  groups: readonly Node[][],
  annotationsOf: AnnotationsOf,
): (group: Node[]) => IsNodeSpecific {
  const groupsOf = new Map<Node, Node[][]>();
  const varyingIn = new Map<string, Node[][]>();
  for (const group of groups) {
    for (const node of group) appendTo(groupsOf, node, group);
    for (const key of varyingKeys(group, annotationsOf)) appendTo(varyingIn, key, group);
  }
  return group => {
    const sharing = new Set(group.flatMap(node => groupsOf.get(node) ?? []));
    return key => varyingIn.get(key)?.some(other => !sharing.has(other)) ?? false;
  };
}

/** The keys that some of the nodes lack, or have with another value. */
function varyingKeys(nodes: Node[], annotationsOf: AnnotationsOf): Set<string> {
  const varying = new Set<string>();
  const labels = commonLabels(nodes);
  const taints = commonTaints(nodes);
  const annotations = commonAnnotations(nodes, annotationsOf);
  for (const node of nodes) {
    for (const key of Object.keys(node.labels)) if (!labels.has(key)) varying.add(key);
    for (const key of annotationsOf(node).keys()) if (!annotations.has(key)) varying.add(annotationKey(key));
    for (const taint of node.taints)
      if (!taints.some(common => isSameTaint(common, taint))) varying.add(taintKey(taint));
  }
  return varying;
}

/**
 * The spec of a pool that changes nothing on these nodes: their common labels, taints and annotations, except keys that
 * a pool must not set (validation.ts), that another component owns, that mark a temporary state, or that are
 * node-specific.
 */
export function adoptedSpec(
  pool: Pick<NodePool, 'apiVersion' | 'kind' | 'metadata'>,
  nodeSelector: Record<string, string>,
  nodes: Node[],
  {
    isNodeSpecific,
    annotationsOf,
    transient,
  }: { isNodeSpecific: IsNodeSpecific; annotationsOf: AnnotationsOf; transient: readonly string[] },
): NodePoolSpec {
  const mayHave = (spec: NodePoolSpec) => validatePool({ ...pool, spec: { ...spec, nodeSelector } }).length === 0;
  const labels = [...commonLabels(nodes)]
    .filter(([key, value]) => !isNodeSpecific(key) && !isOwned(key) && value !== nodes[0]?.name)
    .filter(([key]) => !isTransient('label', key, transient))
    .filter(([key, value]) => mayHave({ labels: { [key]: value } }))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MAX_LABELS);
  const taints = commonTaints(nodes)
    .filter(taint => !isNodeSpecific(taintKey(taint)) && !isTransient('taint', taint.key, transient))
    .map(({ timeAdded: _, ...taint }) => taint)
    .filter(taint => mayHave({ taints: [taint] }))
    .slice(0, MAX_TAINTS);
  const annotations: Record<string, string> = {};
  for (const [key, value] of [...commonAnnotations(nodes, annotationsOf)].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (isNodeSpecific(annotationKey(key)) || value === nodes[0]?.name) continue;
    // The number and the length of annotations are limited together.
    if (mayHave({ annotations: { ...annotations, [key]: value } })) annotations[key] = value;
  }
  return {
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    nodeSelector,
    ...(taints.length === 0 ? {} : { taints }),
  };
}

/** Whether the key is in a domain whose owner sets it anyway. */
export function isOwned(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return OWNED_KEYS.includes(key);
  const domain = key.slice(0, slash);
  if (domain === ADMINISTRATORS_DOMAIN) return false;
  return OWNED_DOMAINS.some(owned => domain === owned || domain.endsWith(`.${owned}`));
}

function commonLabels([first, ...others]: Node[]): Map<string, string> {
  const common = new Map(Object.entries(first?.labels ?? {}));
  for (const { labels } of others) {
    for (const [key, value] of common) if (labels[key] !== value) common.delete(key);
  }
  return common;
}

function commonAnnotations([first, ...others]: Node[], annotationsOf: AnnotationsOf): Map<string, string> {
  const common = new Map(first === undefined ? [] : annotationsOf(first));
  for (const node of others) {
    const annotations = annotationsOf(node);
    for (const [key, value] of common) if (annotations.get(key) !== value) common.delete(key);
  }
  return common;
}

function commonTaints([first, ...others]: Node[]): Taint[] {
  return (first?.taints ?? []).filter(taint =>
    others.every(node => node.taints.some(other => isSameTaint(other, taint))),
  );
}

function taintKey({ key }: Taint): string {
  return `taint ${key}`;
}

function annotationKey(key: string): string {
  return `annotation ${key}`;
}

// The annotations that `adopt` copies into a pool: those that a person set by a command. Most annotations of a node are
// written by agents. A pool that sets one of them would undo every later write of its agent.
//
// Not guaranteed: that a person typed the command. A script that runs kubectl has the same field manager.

/** Without `kubectl apply`: a person or a CD tool that applies a file will apply it again. */
const COMMANDS: readonly string[] = ['kubectl-annotate', 'kubectl-edit', 'kubectl-patch'];

/** The annotations of a node that a pool could set, without those in domains of other owners. */
export interface NodeAnnotations {
  uid: string;
  /** Keys and values that only commands have set. */
  byCommand: ReadonlyMap<string, string>;
  /** Keys with another field manager, or without a known one. */
  byOthers: readonly string[];
}

/** @param metadata of a node, from JSON */
export function readNodeAnnotations(metadata: {
  uid?: string;
  annotations?: unknown;
  managedFields?: unknown;
}): NodeAnnotations {
  const entries = readManagedFields(metadata.managedFields);
  const byCommand = new Map<string, string>();
  const byOthers: string[] = [];
  for (const [key, value] of Object.entries(isObject(metadata.annotations) ? metadata.annotations : {})) {
    if (typeof value !== 'string' || isOwned(key) || !isPoolAnnotation(key)) continue;
    const owners = entries.filter(entry => managedAt(entry, ['metadata', 'annotations', key]) !== undefined);
    const managers = owners.map(({ manager }) => manager);
    // A pool set or restored it, so the first writer is unknown.
    if (managers.includes(FIELD_MANAGER)) continue;
    if (managers.length > 0 && managers.every(manager => COMMANDS.includes(manager))) byCommand.set(key, value);
    else byOthers.push(key);
  }
  return { uid: metadata.uid ?? '', byCommand, byOthers };
}

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();

/** For each node, the annotations set by commands, without the keys that others write on any node. */
export function annotationsByCommand(read: readonly NodeAnnotations[]): (node: Node) => ReadonlyMap<string, string> {
  const ofOthers = new Set(read.flatMap(({ byOthers }) => byOthers));
  const byNode = new Map(
    read.map(({ uid, byCommand }) => [uid, new Map([...byCommand].filter(([key]) => !ofOthers.has(key)))] as const),
  );
  return ({ uid }) => byNode.get(uid) ?? NO_ANNOTATIONS;
}
