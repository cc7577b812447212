/** Errors of single fields of a pool, and their combination into one NodepoolError. */
import { NodepoolError } from '../errors.ts';

/** The next step if the rule itself has none. */
function explain(fields: readonly string[]): string {
  if (fields.length === 1 && /^metadata(\.name)?$/.test(fields[0] ?? '')) return 'set metadata.name';
  const parts = new Set(fields.map(field => /^(metadata|spec|status)\b/.exec(field)?.[1]));
  const [part] = parts;
  // The short name, because other API groups have a resource nodepools as well.
  const what = parts.size === 1 && part !== undefined ? `npool.${part}` : 'npool';
  return `see the valid values with \`kubectl explain ${what}\``;
}

export interface FieldError {
  /** Path as the API server writes it: `spec.taints[1].key`. */
  field: string;
  /** Without the name of the field. */
  message: string;
  /** The next step, as one imperative sentence without a trailing full stop. */
  next?: string;
}

/** One error is one line; several are a list. @param source a file, `stdin`, `NodePool "gpu"` */
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

/** In one line, without next steps. */
export function fieldErrorsText(errors: readonly FieldError[]): string {
  return errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
}
