/** The rules for spec.rollout, which the CRD has as well (see validation.ts). */
import type { FieldError } from './field-error.ts';
import type { NodePool, RolloutStrategy } from './types.ts';

const MAX_SETTLE_SECONDS = 86_400;
const MAX_COUNT = 1_000_000;

export function rolloutErrors({ spec: { rollout } }: NodePool): FieldError[] {
  if (rollout === undefined) return [];
  const { maxConcurrent, canary, settleSeconds }: RolloutStrategy = rollout;
  const errors: FieldError[] = [];
  const check = (field: keyof RolloutStrategy, problem: string | undefined) => {
    if (problem !== undefined) errors.push({ field: `spec.rollout.${field}`, message: problem });
  };
  check('maxConcurrent', countProblem(maxConcurrent, 1));
  check('canary', countProblem(canary, 0));
  if (settleSeconds !== undefined && (settleSeconds < 0 || settleSeconds > MAX_SETTLE_SECONDS)) {
    check('settleSeconds', `must be from 0 to ${MAX_SETTLE_SECONDS}`);
  }
  return errors;
}

/** A number of nodes, or a percentage of the members. */
function countProblem(value: number | string | undefined, least: 0 | 1): string | undefined {
  if (value === undefined) return undefined;
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= MAX_COUNT;
  const isPercentage = typeof value === 'string' && /^([1-9]?\d|100)%$/.test(value) && (least === 0 || value !== '0%');
  if (isCount || isPercentage) return undefined;
  return `${JSON.stringify(value)} must be a number from ${least} to ${MAX_COUNT} or a percentage from ${least}% to 100%`;
}
