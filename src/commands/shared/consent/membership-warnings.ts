/** Warnings about created or edited pools. */

import { type ErrorIo, showWarning } from '../../../cli/errors.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import type { NodePoolsClient } from '../../../kube/cluster.ts';
import type { Warning } from '../../../nodepool/errors.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { firstFew } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { MAX_NAMED } from '../pools/choose-pools.ts';
import { valueOrRefusal } from '../refusals.ts';

/** `policy`: a policy keeps kubelets from joining pools. `known`: another pool already had such a risk and warning. */
export type Protection = 'policy' | 'known' | 'none';

/** Reads nothing if these pools give kubelets nothing that they could not set themselves. */
export async function readProtection(
  pools: readonly NodePool[],
  { manifests, cluster }: { manifests: Connection['manifests']; cluster: { pools: Pick<NodePoolsClient, 'list'> } },
  { root }: Pick<Deps, 'root'>,
): Promise<Protection> {
  const { kubeletRisk } = await import('../../../nodepool/membership/kubelet-labels.ts');
  if (pools.every(pool => kubeletRisk(pool) === undefined)) return 'none';
  const { readPolicies } = await import('../../../cli/manifests.ts');
  const { isMembershipProtected } = await import('../install/admission-policies.ts');
  if (await isMembershipProtected((await readPolicies(root)).objects, manifests)) return 'policy';
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  const all = await valueOrRefusal(() => cluster.pools.list());
  const others = 'value' in all ? all.value.filter(({ metadata }) => !names.has(metadata.name)) : [];
  return others.some(pool => kubeletRisk(coercePool(pool)) !== undefined) ? 'known' : 'none';
}

/** Warns about pools that a kubelet could join or leave by itself, or that nodes cannot register into. */
export async function warnOfKubelets(
  pools: readonly NodePool[],
  protection: Protection | Promise<Protection>,
  io: ErrorIo,
): Promise<void> {
  const labels = await import('../../../nodepool/membership/kubelet-labels.ts');
  const read = await protection;
  // `doctor` lists the other pools.
  if (read === 'known') return;
  const hasPolicy = read === 'policy';
  const risks = pools.flatMap(pool => {
    const risk = labels.kubeletRisk(pool);
    if (risk === undefined) return [];
    const text = hasPolicy ? labels.kubeletRegistrationText(risk, pool) : labels.kubeletRiskText(risk);
    return text === undefined ? [] : [{ pool: pool.metadata.name, text }];
  });
  const [first, ...more] = risks;
  if (first === undefined) return;
  const others =
    more.length === 0
      ? ''
      : ` (also ${firstFew(
          more.map(({ pool }) => pool),
          MAX_NAMED,
        )})`;
  const message = `pool ${first.pool} ${first.text}${others}`;
  if (hasPolicy) showWarning(io, `${message}; see ${labels.KUBELET_RISK_PAGE}`);
  else showWarning(io, { message, next: 'run `kubectl nodepool install --policies` once per cluster' });
}

/** Whether the edit creates or changes the risk: an earlier warning is not repeated. */
export async function isKubeletRiskNew(before: NodePool, after: NodePool): Promise<boolean> {
  const labels = await import('../../../nodepool/membership/kubelet-labels.ts');
  const [was, is] = [before, after].map(pool => {
    const risk = labels.kubeletRisk(pool);
    return risk && labels.kubeletRiskText(risk) + labels.kubeletRegistrationText(risk, pool);
  });
  return was !== is;
}

/** Warns about labels and taints that clouds, provisioners etc. set. @param transientKeys from --transient-keys */
export async function warnOfOthersKeys(
  pools: readonly NodePool[],
  io: ErrorIo,
  transientKeys: readonly string[] | undefined,
): Promise<void> {
  const { keysOfOthers } = await import('../../../nodepool/membership/member-labels.ts');
  const { startupKeyWarnings, transientKeysIn, transientKeyWarning } = await import(
    '../../../nodepool/plan/transient-states.ts'
  );
  for (const pool of pools) {
    const { metadata, spec } = pool;
    const passing = transientKeysIn(pool, transientKeys);
    for (const state of passing) showWarning(io, transientKeyWarning(pool, state));
    for (const warning of startupKeyWarnings(pool)) showWarning(io, warning);
    const others = keysOfOthers(spec).filter(({ key }) => !passing.some(state => state.key === key));
    const found = Map.groupBy(others, ({ provider }) => provider);
    for (const [provider, keys] of found) {
      const named = keys.map(({ key }) => key).join(', ');
      const message = `pool ${metadata.name} sets ${named}, but ${provider} also sets it: the last writer wins`;
      showWarning(io, { message, next: 'use a key of your own' });
    }
  }
}

/** Warns about fields that the next `kubectl apply` of the pool's file would revert. */
export async function warnOfApply(pool: NodePool, io: ErrorIo): Promise<void> {
  const { takenBackByApply } = await import('../../../nodepool/spec/annotations.ts');
  const paths = takenBackByApply(pool);
  if (paths.length === 0) return;
  const message = `the next \`kubectl apply\` of the file of pool ${pool.metadata.name} will revert ${paths.join(', ')}`;
  showWarning(io, { message, next: 'also change the file' });
}

/** Undefined unless the pool is being deleted: then its nodes are released, whatever its spec says. */
export function deletingWarning({ metadata: { name, deletionTimestamp } }: NodePool): Warning | undefined {
  if (deletionTimestamp === undefined) return undefined;
  return {
    message: `pool ${name} is being deleted since ${deletionTimestamp}: its nodes are released, and changes of its spec have no effect`,
    next: `finish the deletion with \`kubectl nodepool delete ${name}\``,
  };
}

export function unmanagedWarning(name: string): string {
  return `pool ${name} has unmanaged: Remove: reconcile removes all other labels and taints from its members, including those of cloud, CNI and GPU software; keys that contain "kubernetes" stay`;
}
