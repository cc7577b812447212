/** Whether it is known which nodes belong to a pool. */
import type { FieldError } from '../spec/field-error.ts';
import { validatePool } from '../spec/validation.ts';
import type { NodePool } from '../types.ts';

/**
 * False when a part of the selector could not be read, or is invalid: a mistake in it must not release the nodes that the
 * pool holds, and a later version may have more operators.
 * @param errors of validatePool()
 */
export function isSelectorKnown(pool: NodePool, errors: readonly FieldError[] = validatePool(pool)): boolean {
  return !errors.some(({ field }) => field === 'spec' || /^spec\.(nodeSelector|matchExpressions)/.test(field));
}
