/** Nodes that no run writes until a user changes the node or a pool. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { endOf, type NodePlan } from '../../nodepool/plan/plan.ts';
import { MAX_RECORD_LENGTH, MAX_RECORD_SLOTS } from '../../nodepool/plan/record.ts';
import { fieldErrorsText } from '../../nodepool/spec/field-error.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../state/cluster-state.ts';

export interface Blocked {
  kind: 'circle' | 'oversized' | 'invalid';
  pools: readonly string[];
  /** For tables. */
  word: string;
  /** A clause that does not name the node. */
  why: string;
  /** An imperative without a trailing full stop. */
  next: string;
}

export interface BlockedNode extends Blocked {
  node: string;
}

export function blockedOf(state: ClusterState, plan: NodePlan | undefined): Blocked | undefined {
  const end = plan && endOf(plan);
  switch (end?.kind) {
    case 'circle':
      return circle(end.pools);
    case 'oversized':
      return oversized(end.pool, state.pool(end.pool));
    case 'same':
      return end.owner === undefined ? undefined : invalid(end.owner, state);
    default:
      return undefined;
  }
}

/** For JSON. */
export function blockedItem({ kind, why, next }: Blocked) {
  return { reason: kind, message: why, next };
}

export function blockedError({ node, why, next }: Pick<BlockedNode, 'node' | 'why' | 'next'>): NodepoolError {
  return new NodepoolError('cluster', `node ${node} was not written: ${why}`, next, { isPermanent: true });
}

function circle(pools: readonly string[]): Blocked {
  return {
    kind: 'circle',
    pools,
    word: `between:${pools.join(',')}`,
    why: `the labels of pools ${pools.join(', ')} move nodes to another pool in an endless loop`,
    next: 'change the labels or the nodeSelector of one of them',
  };
}

function oversized(name: string, pool: NodePool | undefined): Blocked {
  const limits = `${MAX_RECORD_SLOTS} labels, ${MAX_RECORD_SLOTS} taints or ${MAX_RECORD_LENGTH} bytes`;
  const [what, next] =
    pool?.spec.annotations === undefined && pool?.spec.startupTaints === undefined
      ? ['removes with unmanaged: Remove', 'remove labels or taints from the node, or set unmanaged: Keep']
      : [
          'sets and removes, with the previous values,',
          'set fewer or shorter annotations, or fewer startup taints; with unmanaged: Remove, remove labels or taints from the node, or set Keep',
        ];
  const why = `what pool ${name} ${what} does not fit into the record (${limits})`;
  return { kind: 'oversized', pools: [name], word: 'record-full', why, next };
}

/** A pool with an invalid spec keeps its nodes and changes none of them. */
function invalid(name: string, { poolIndex }: ClusterState): Blocked | undefined {
  const errors = poolIndex.errors(name);
  if (errors.length === 0) return undefined;
  return {
    kind: 'invalid',
    pools: [name],
    word: 'invalid-spec',
    why: `the spec of pool ${name} is invalid: ${fieldErrorsText(errors)}`,
    next: `fix the spec with \`kubectl nodepool edit ${name}\``,
  };
}
