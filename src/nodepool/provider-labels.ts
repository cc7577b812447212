/**
 * The labels by which clouds and provisioners mark the nodes of one of their pools. In the order of preference: a group
 * whose nodes are all in groups found by earlier ones is one of them by another name.
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
