/** Why a plan of a node cannot be written. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { MAX_RECORD_LENGTH, MAX_RECORD_SLOTS } from '../../nodepool/plan/record.ts';
import type { NodePool } from '../../nodepool/types.ts';

/** The labels of each of these pools make the node a member of another: it is not written. */
export function circleError(node: string, circle: readonly string[]): NodepoolError {
  return new NodepoolError(
    'cluster',
    `node ${node} was not written: the labels of each of the pools ${circle.join(', ')} make it a member of another, without end`,
    'change the labels or the nodeSelector of one of them',
    { isPermanent: true },
  );
}

/** @param pool the one whose record it is */
export function oversizedError(node: string, pool: NodePool | undefined): NodepoolError {
  const limits = `${MAX_RECORD_SLOTS} labels, ${MAX_RECORD_SLOTS} taints or ${MAX_RECORD_LENGTH} bytes`;
  const [what, next] =
    pool?.spec.annotations === undefined && pool?.spec.startupTaints === undefined
      ? [
          'its pool has unmanaged: Remove, and what that removes',
          'remove labels or taints from the node, or set unmanaged: Keep',
        ]
      : [
          'what its pool sets and removes there, with the values that were there before,',
          'set fewer or shorter annotations, or fewer startup taints; with unmanaged: Remove, remove labels or taints from the node, or set Keep',
        ];
  return new NodepoolError(
    'cluster',
    `node ${node} was not written: ${what} does not fit into the record (${limits})`,
    next,
    {
      isPermanent: true,
    },
  );
}
