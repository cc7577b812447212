/** Warnings about pools that were created or edited. */
import type { NodePool } from '../nodepool/types.ts';
import { warningLine } from './error-line.ts';
import type { Io } from './io.ts';

/** Warns about pools that a kubelet could join or leave by itself. */
export async function warnOfKubelets(pools: readonly NodePool[], { err }: Pick<Io, 'err'>): Promise<void> {
  const { KUBELET_RISK_PAGE, kubeletRisk, kubeletRiskText } = await import('../nodepool/kubelet-labels.ts');
  const texts = pools.flatMap(pool => {
    const risk = kubeletRisk(pool);
    return risk === undefined ? [] : [`pool ${pool.metadata.name} ${kubeletRiskText(risk)}`];
  });
  // The page is the same for all pools.
  for (const [at, text] of texts.entries()) {
    err(warningLine(at === texts.length - 1 ? `${text}; see ${KUBELET_RISK_PAGE}` : text));
  }
}

/** Warns about labels and taints that a cloud or a provisioner sets itself. */
export async function warnOfOthersKeys(pools: readonly NodePool[], { err }: Pick<Io, 'err'>): Promise<void> {
  const { keysOfOthers } = await import('../nodepool/provider-labels.ts');
  for (const { metadata, spec } of pools) {
    const found = Map.groupBy(keysOfOthers(spec), ({ provider }) => provider);
    for (const [provider, keys] of found) {
      const named = keys.map(({ key }) => key).join(', ');
      err(
        warningLine(
          `pool ${metadata.name} sets ${named}, which ${provider} sets itself: the last writer wins; next: choose a key of your own`,
        ),
      );
    }
  }
}

/** Undefined unless the pool is being deleted: whatever its spec says, its nodes are released. */
export function deletingWarning({ metadata: { name, deletionTimestamp } }: NodePool): string | undefined {
  if (deletionTimestamp === undefined) return undefined;
  return warningLine(
    `nodepool ${name} is being deleted since ${deletionTimestamp}: its nodes are released, and no change of its spec reaches them; next: finish that with \`kubectl nodepool delete ${name}\``,
  );
}

export function unmanagedWarning(name: string): string {
  return `warning: pool ${name} has unmanaged: Remove: reconcile removes from its members all labels and taints that it does not set and whose key does not contain "kubernetes", including those of cloud, CNI and GPU software`;
}
