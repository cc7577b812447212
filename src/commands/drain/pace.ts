/** `drain --parallel` and `drain --max-unavailable`. */
import type { DrainPace } from '../../nodepool/drain/drain-slots.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { PlannedPool } from './plan-drain.ts';

/**
 * Parses `--parallel N` and `--max-unavailable N|P%`; a percentage of the members is rounded down, but at least one.
 * Without both: one node at a time, as kubectl drain.
 */
export function parsePace(
  parallel: number | undefined,
  maxUnavailable: string | undefined,
  members: number,
): DrainPace {
  if (maxUnavailable === undefined) return { kind: 'parallel', nodes: parallel ?? 1 };
  const [, digits = '', percent] = /^(\d{1,9})(%?)$/.exec(maxUnavailable) ?? [];
  const value = Number(digits);
  if (value === 0 || (percent === '%' && value > 100)) {
    throw new NodepoolError(
      'usage',
      `--max-unavailable: "${maxUnavailable}" is neither a number of nodes nor a percentage`,
      'write it like 2 or 25%',
    );
  }
  const nodes = percent === '%' ? Math.max(1, Math.floor((members * value) / 100)) : value;
  return { kind: 'max unavailable', nodes };
}

/** Where a number, not a percentage, lets all members of a pool be drained at the same time. */
export function wholePoolWarning(maxUnavailable: string | undefined, planned: PlannedPool): string[] {
  const members = planned.nodes.length + planned.otherMembers.length;
  if (members <= 1 || !/^\d+$/.test(maxUnavailable ?? '') || Number(maxUnavailable) < members) return [];
  const meant = Number(maxUnavailable) <= 100 ? `; did you mean ${maxUnavailable}%?` : '';
  return [`--max-unavailable ${maxUnavailable} is at least the ${members} nodes of pool ${planned.pool}${meant}`];
}
