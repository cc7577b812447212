/** What is said of pools that were written. */
import type { NodePool } from '../nodepool/types.ts';
import { warningLine } from './error-line.ts';
import type { Io } from './io.ts';

/** Which of them a kubelet could join or leave by itself. */
export async function warnOfKubelets(pools: readonly NodePool[], { err }: Pick<Io, 'err'>): Promise<void> {
  const { KUBELET_RISK_REMEDY, kubeletRisk, kubeletRiskText } = await import('../nodepool/kubelet-labels.ts');
  const texts = pools.flatMap(pool => {
    const risk = kubeletRisk(pool);
    return risk === undefined ? [] : [`pool ${pool.metadata.name} ${kubeletRiskText(risk)}`];
  });
  // The remedy is the same for all.
  for (const [at, text] of texts.entries()) {
    err(warningLine(at === texts.length - 1 ? `${text}; next: ${KUBELET_RISK_REMEDY}` : text));
  }
}

/** For pools that strip what they do not set. */
export function unmanagedWarning(name: string): string {
  return `warning: pool ${name} has unmanaged: Remove: reconciling it takes every label and taint off its members that it does not set and whose key does not contain "kubernetes", those of cloud, CNI and GPU software too`;
}
