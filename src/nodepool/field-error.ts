/** What is wrong with one field of a pool, and how a list of such becomes the error a user sees. */
import { NodepoolError } from './errors.ts';

/** The way out where the rules themselves name none. */
function explain(fields: readonly string[]): string {
  if (fields.length === 1 && /^metadata(\.name)?$/.test(fields[0] ?? ''))
    return 'give the pool a name in metadata.name';
  const parts = new Set(fields.map(field => /^(metadata|spec|status)\b/.exec(field)?.[1]));
  const [part] = parts;
  const what = parts.size === 1 && part !== undefined ? `nodepool.${part}` : 'nodepool';
  return `see what the fields take with \`kubectl explain ${what}\``;
}

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
 * @param placeOf where a field of it stands: `pools.yaml:14`
 */
export function fieldErrors(
  source: string,
  errors: readonly FieldError[],
  placeOf?: (field: string) => string,
): NodepoolError {
  const [first, ...rest] = errors;
  if (first === undefined) throw new Error('fieldErrors needs at least one error');
  if (rest.length === 0) {
    const place = placeOf?.(first.field) ?? source;
    return new NodepoolError(
      'input',
      `${place}: ${first.field}: ${first.message}`,
      first.next ?? explain([first.field]),
    );
  }
  const items = errors.map(({ field, message, next }) => {
    const place = placeOf === undefined ? '' : `${placeOf(field)}: `;
    return `${place}${field}: ${message}${next === undefined ? '' : ` (${next})`}`;
  });
  return new NodepoolError(
    'input',
    `${source} has ${errors.length} errors:`,
    explain(errors.map(({ field }) => field)),
    { items },
  );
}
