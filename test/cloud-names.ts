/** Eighteen names of nodes as each cloud gives them. */
export const EKS: readonly string[] = [
  ...Array.from({ length: 10 }, (_, i) => `ip-10-0-1-${10 + i}.eu-west-1.compute.internal`),
  ...Array.from({ length: 8 }, (_, i) => `ip-10-0-12-${100 + i}.eu-west-1.compute.internal`),
];

const GKE_ENDS = ['a1b2', 'c3d4', 'f5g6', 'h7j8', 'k9l0', 'm1n2', 'p3q4', 'r5s6', 't7v8'];

/** Of two node pools. */
export const GKE: readonly string[] = ['backend-8f3c1d2e', 'gpu-spot-0b9a7c5d'].flatMap(pool =>
  GKE_ENDS.map(end => `gke-prod-europe-west4-${pool}-${end}`),
);

export const AKS: readonly string[] = Array.from(
  { length: 18 },
  (_, i) => `aks-nodepool1-34567890-vmss${i.toString(36).padStart(6, '0')}`,
);
