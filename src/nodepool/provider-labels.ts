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
