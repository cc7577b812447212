/** What is wrong with one field of a pool, and how a list of such becomes the error a user sees. */
import { NodepoolError } from './errors.ts';

/** The way out where the rule itself names none. */
const EXPLAIN = 'see what the fields take with `kubectl explain nodepool.spec`';

export interface FieldError {
  /** Path as the API server writes it: `spec.taints[1].key`. */
  field: string;
  /** What is wrong, without the field's name. */
  message: string;
  /** What to do about it, as one imperative sentence without a trailing full stop. */
  next?: string;
}

/**
 * One error is one line; several are a list, a line each.
 *
 * @param source where the pool came from: a file name, `stdin`, `NodePool "gpu"`
 */
export function fieldErrors(source: string, errors: readonly FieldError[]): NodepoolError {
  const [first, ...rest] = errors;
  if (first === undefined) throw new Error('fieldErrors needs at least one error');
  if (rest.length === 0) {
    return new NodepoolError('input', `${source}: ${first.field}: ${first.message}`, first.next ?? EXPLAIN);
  }
  const items = errors.map(
    ({ field, message, next }) => `${field}: ${message}${next === undefined ? '' : ` (${next})`}`,
  );
  return new NodepoolError('input', `${source} has ${errors.length} errors:`, EXPLAIN, { items });
}
