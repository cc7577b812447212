/** Says of pools that were written which of them a kubelet could join or leave by itself. */
import type { NodePool } from '../nodepool/types.ts';
import { warningLine } from './error-line.ts';
import type { Io } from './io.ts';

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
