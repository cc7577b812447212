/** A parsed JSONPath template, in the language of k8s.io/client-go/util/jsonpath. */
import { NodepoolError } from '../../nodepool/errors.ts';

/** One step, which maps values to values. */
export type TemplateStep =
  | { kind: 'text'; text: string }
  | { kind: 'field'; name: string }
  | { kind: 'slice'; start: number | undefined; end: SliceEnd; step: number | undefined }
  /** The operator is `exists` if there is no right side. */
  | { kind: 'filter'; left: TemplateStep[]; operator: string; right: TemplateStep[] }
  /** A number written with a point is a float, which cannot be compared with an integer. */
  | { kind: 'literal'; value: number | boolean; isFloat: boolean }
  | { kind: 'wildcard' }
  | { kind: 'descent' }
  | { kind: 'union'; branches: TemplateStep[][] }
  /** `range` and `end`; evaluating any other word is an error. */
  | { kind: 'word'; word: string };

/** `after start` for `[3]`, `open` for `[3:]`. */
export type SliceEnd = { kind: 'index'; index: number } | { kind: 'after start' } | { kind: 'open' };

/** The steps within braces, or the text outside of them. */
export type TemplatePart = { kind: 'text'; text: string } | { kind: 'action'; steps: TemplateStep[] };

export type Template = readonly TemplatePart[];

/** An invalid template, or one that does not fit the values; the message is kubectl's. */
export class JsonPathError extends Error {
  /** The values before the error: an `exists` filter is true if there are any. */
  readonly values: readonly unknown[];

  constructor(message: string, values: readonly unknown[] = []) {
    super(message);
    this.name = 'JsonPathError';
    this.values = values;
  }
}

/** In characters; handwritten templates have some hundreds. */
const MAX_TEMPLATE_LENGTH = 65_536;

/** @throws JsonPathError */
export function checkTemplateLength(text: string): void {
  if (text.length <= MAX_TEMPLATE_LENGTH) return;
  throw new JsonPathError(`the template has ${text.length} characters; the limit is ${MAX_TEMPLATE_LENGTH}`);
}

/** Turns a JsonPathError into a NodepoolError (input). @param flag such as `-o jsonpath`; precedes the message */
export function explainFor<T>(flag: string, next: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    throw new NodepoolError('input', `${flag}: ${error.message}`, next, { cause: error });
  }
}
