import type { NodePoolSpec } from '../types.ts';

/**
 * Labels by which cloud providers and provisioners mark the nodes of a group, most preferred first. A group whose nodes
 * are all in groups of earlier labels is the same group under another label.
 */
export const PROVIDER_LABELS: readonly { provider: string; key: string }[] = [
  { provider: 'Karpenter', key: 'karpenter.sh/nodepool' },
  { provider: 'EKS', key: 'eks.amazonaws.com/nodegroup' },
  { provider: 'EKS', key: 'alpha.eksctl.io/nodegroup-name' },
  { provider: 'GKE', key: 'cloud.google.com/gke-nodepool' },
  { provider: 'AKS', key: 'kubernetes.azure.com/agentpool' },
  { provider: 'AKS', key: 'agentpool' },
  { provider: 'DOKS', key: 'doks.digitalocean.com/node-pool' },
];

/** Domains of labels and taints that other tools set on nodes, beside those of PROVIDER_LABELS. */
const MORE_DOMAINS = [
  { provider: 'Karpenter', domain: 'karpenter.k8s.aws' },
  { provider: 'Cluster API', domain: 'node.cluster.x-k8s.io' },
];
const DOMAINS = [
  ...PROVIDER_LABELS.flatMap(({ provider, key }) =>
    key.includes('/') ? [{ provider, domain: key.slice(0, key.indexOf('/')) }] : [],
  ),
  ...MORE_DOMAINS,
];

/** Labels and taints that the pool sets and that belong to another tool: whoever writes last would win. */
export function keysOfOthers({ labels = {}, taints = [], startupTaints = [] }: NodePoolSpec): {
  provider: string;
  key: string;
}[] {
  const keys = new Set([...Object.keys(labels), ...[...taints, ...startupTaints].map(({ key }) => key)]);
  return [...keys].toSorted().flatMap(key => {
    const provider = providerOf(key);
    return provider === undefined ? [] : [{ provider, key }];
  });
}

/** The tool that sets labels and taints with this key on nodes; undefined: none that is known. */
export function providerOf(key: string): string | undefined {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : undefined;
  const owner =
    domain === undefined
      ? PROVIDER_LABELS.find(label => label.key === key)
      : DOMAINS.find(each => domain === each.domain || domain.endsWith(`.${each.domain}`));
  return owner?.provider;
}
