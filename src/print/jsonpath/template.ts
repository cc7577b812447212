/** A parsed JSONPath template. The language is that of k8s.io/client-go/util/jsonpath. */
import { NodepoolError } from '../../nodepool/errors.ts';

/** One step from values to values. */
export type TemplateStep =
  | { kind: 'text'; text: string }
  | { kind: 'field'; name: string }
  | { kind: 'slice'; start: number | undefined; end: SliceEnd; step: number | undefined }
  /** `exists` when there is no right side. */
  | { kind: 'filter'; left: TemplateStep[]; operator: string; right: TemplateStep[] }
  /** A number written with a point is a float, which an integer does not compare with. */
  | { kind: 'literal'; value: number | boolean; isFloat: boolean }
  | { kind: 'wildcard' }
  | { kind: 'descent' }
  | { kind: 'union'; branches: TemplateStep[][] }
  /** `range` and `end`; any other word is an error when it is evaluated. */
  | { kind: 'word'; word: string };

/** `after start` for `[3]`, `open` for `[3:]`. */
export type SliceEnd = { kind: 'index'; index: number } | { kind: 'after start' } | { kind: 'open' };

/** The steps between braces, or the text around them. */
export type TemplatePart = { kind: 'text'; text: string } | { kind: 'action'; steps: TemplateStep[] };

export type Template = readonly TemplatePart[];

/** A wrong template, or one that does not fit the values; the message is kubectl's. */
export class JsonPathError extends Error {
  /** The values up to the error: an `exists` filter is true where there are any. */
  readonly values: readonly unknown[];

  constructor(message: string, values: readonly unknown[] = []) {
    super(message);
    this.name = 'JsonPathError';
    this.values = values;
  }
}

/** Characters; templates written by people have some hundreds. */
const MAX_TEMPLATE_LENGTH = 65_536;

/** @throws JsonPathError */
export function checkTemplateLength(text: string): void {
  if (text.length <= MAX_TEMPLATE_LENGTH) return;
  throw new JsonPathError(`the template has ${text.length} characters; the limit is ${MAX_TEMPLATE_LENGTH}`);
}

/** A JsonPathError becomes a NodepoolError (input). @param flag as in `-o jsonpath`; precedes the message */
export function explainFor<T>(flag: string, next: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    throw new NodepoolError('input', `${flag}: ${error.message}`, next, { cause: error });
  }
}
