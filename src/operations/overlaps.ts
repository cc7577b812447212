/** Which nodes new pools select that belong to other pools: those stay there, and the new pool has status 409. */
import { coercePool } from '../nodepool/coerce.ts';
import { firstFew, plural } from '../nodepool/plural.ts';
import { ClusterState } from '../reconciler/cluster-state.ts';
import { attempt } from './attempt.ts';
import { allPermitted } from './permitted.ts';
import type { ClusterReader, RawPool } from './ports.ts';

const MAX_NAMED = 3;

/** A sentence for each new pool that overlaps. None where pools or nodes may not be read. */
export async function overlapTexts(created: readonly RawPool[], cluster: ClusterReader): Promise<string[]> {
  const read = await attempt(() => allPermitted([cluster.pools.listCoerced(), cluster.nodes.list()]));
  if ('refusal' in read) return [];
  const [existing, nodes] = read.value;
  const names = new Set(created.map(({ metadata }) => metadata.name));
  const others = existing.filter(({ metadata }) => !names.has(metadata.name));
  const state = new ClusterState([...others, ...created.map(coercePool)], nodes, []);
  return [...names].flatMap(name => {
    const lost = state.lost(name).map(({ node, owner }) => `${node.name} (${owner.metadata.name})`);
    if (lost.length === 0) return [];
    return `pool ${name} selects ${plural(lost.length, 'node')} of other pools, which stay there: ${firstFew(lost, MAX_NAMED)}`;
  });
}
