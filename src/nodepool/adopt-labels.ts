/** What a pool that is made of existing nodes takes over from them: labels and taints that belong to the pool, not to a node. */
import { isSameTaint } from './taint.ts';
import type { Node, NodePool, NodePoolSpec, Taint } from './types.ts';
import { MAX_LABELS, MAX_TAINTS, validatePool } from './validation.ts';

/**
 * Whoever owns these domains, or one below, sets the labels in them on every node anew: Kubernetes and its projects,
 * clouds, provisioners, networks and the discovery of hardware.
 */
const OWNED_DOMAINS = [
  'kubernetes.io',
  'k8s.io',
  'x-k8s.io',
  'k8s.aws',
  'amazonaws.com',
  'eksctl.io',
  'cloud.google.com',
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
  'nvidia.com',
  'amd.com',
  'intel.com',
  'kubevirt.io',
  'tencent.com',
  'microk8s.io',
  'k0sproject.io',
];
/** The one below kubernetes.io that is there for administrators (NodeRestriction). */
const ADMINISTRATORS_DOMAIN = 'node-restriction.kubernetes.io';
/** Set by AKS without a domain. */
const OWNED_KEYS = ['agentpool', 'storageprofile', 'storagetier'];

/** Set for a while: until an agent is ready, or before a node goes. A pool would keep them, and give them to new nodes. */
const PASSING_TAINTS = [
  /^node\.kubernetes\.io\/out-of-service$/,
  /^(ToBeDeletedByClusterAutoscaler|DeletionCandidateOfClusterAutoscaler)$/,
  /^karpenter\.sh\/(disrupted|disruption|unregistered)$/,
  /^cloud\.google\.com\/impending-node-termination$/,
  /^aws-node-termination-handler\//,
  /^(startup|status|ignore)-taint\.cluster-autoscaler\.kubernetes\.io\//,
  /(not-ready|uninitialized|unschedulable)$/,
];

/** Whether a key, of a label or as `taint KEY`, belongs to nodes, whatever group they are in. */
export type IsOfNodes = (key: string) => boolean;

/**
 * A key that varies within a group belongs to nodes in the others as well: in a group of one node nobody could tell. Groups
 * that share nodes say nothing of each other: what divides the nodes otherwise varies within them by its nature.
 */
export function keysOfNodes(groups: readonly Node[][]): (group: Node[]) => IsOfNodes {
  const groupsOf = new Map<Node, Node[][]>();
  const varyingIn = new Map<string, Node[][]>();
  for (const group of groups) {
    for (const node of group) append(groupsOf, node, group);
    for (const key of varyingKeys(group)) append(varyingIn, key, group);
  }
  return group => {
    const sharing = new Set(group.flatMap(node => groupsOf.get(node) ?? []));
    return key => varyingIn.get(key)?.some(other => !sharing.has(other)) ?? false;
  };
}

/** What some nodes have and others have not, or otherwise. */
function varyingKeys(nodes: Node[]): Set<string> {
  const varying = new Set<string>();
  const labels = commonLabels(nodes);
  const taints = commonTaints(nodes);
  for (const node of nodes) {
    for (const key of Object.keys(node.labels)) if (!labels.has(key)) varying.add(key);
    for (const taint of node.taints)
      if (!taints.some(common => isSameTaint(common, taint))) varying.add(taintKey(taint));
  }
  return varying;
}

/** Adds to the list that is kept for the key. */
export function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/**
 * The spec of a pool of these nodes that changes nothing on them: their common labels and taints, but for those that a
 * pool may not set (validation.ts), that somebody else owns, or that are a node's.
 */
export function adoptedSpec(
  pool: Pick<NodePool, 'apiVersion' | 'kind' | 'metadata'>,
  nodeSelector: Record<string, string>,
  nodes: Node[],
  isOfNodes: IsOfNodes,
): NodePoolSpec {
  const mayHave = (spec: NodePoolSpec) => validatePool({ ...pool, spec: { ...spec, nodeSelector } }).length === 0;
  const labels = [...commonLabels(nodes)]
    .filter(([key, value]) => !isOfNodes(key) && !isOwned(key) && value !== nodes[0]?.name)
    .filter(([key, value]) => mayHave({ labels: { [key]: value } }))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MAX_LABELS);
  const taints = commonTaints(nodes)
    .filter(taint => !isOfNodes(taintKey(taint)) && !PASSING_TAINTS.some(passing => passing.test(taint.key)))
    .map(({ timeAdded: _, ...taint }) => taint)
    .filter(taint => mayHave({ taints: [taint] }))
    .slice(0, MAX_TAINTS);
  return {
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    nodeSelector,
    ...(taints.length === 0 ? {} : { taints }),
  };
}

function isOwned(key: string): boolean {
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

function commonTaints([first, ...others]: Node[]): Taint[] {
  return (first?.taints ?? []).filter(taint =>
    others.every(node => node.taints.some(other => isSameTaint(other, taint))),
  );
}

function taintKey({ key }: Taint): string {
  return `taint ${key}`;
}
