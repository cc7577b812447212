/** A JSONPath template of kubectl, parsed. The language is that of k8s.io/client-go/util/jsonpath. */

/** One step from values to values. */
export type Step =
  | { kind: 'text'; text: string }
  | { kind: 'field'; name: string }
  | { kind: 'slice'; start: number | undefined; end: SliceEnd; step: number | undefined }
  /** `exists` when there is no right side. */
  | { kind: 'filter'; left: Step[]; operator: string; right: Step[] }
  /** A number written with a point is a float, which an integer does not compare with. */
  | { kind: 'literal'; value: number | boolean; isFloat: boolean }
  | { kind: 'wildcard' }
  | { kind: 'descent' }
  | { kind: 'union'; branches: Step[][] }
  /** `range` and `end`; any other is an error when it is come to. */
  | { kind: 'word'; word: string };

/** Of `[3]` the end follows from the start; that of `[3:]` is the list's. */
export type SliceEnd = { kind: 'index'; index: number } | { kind: 'after start' } | { kind: 'open' };

/** What stands between braces, or the text around them. */
export type Part = { kind: 'text'; text: string } | { kind: 'action'; steps: Step[] };

export type Template = readonly Part[];

/** What is wrong with a template, or with a template on these values; its text is kubectl's. */
export class JsonPathError extends Error {
  /** What there was when it came to the error: a filter for existence goes by it. */
  readonly values: readonly unknown[];

  constructor(message: string, values: readonly unknown[] = []) {
    super(message);
    this.name = 'JsonPathError';
    this.values = values;
  }
}

/** Characters: those that people write have some hundreds. */
const LONGEST_TEMPLATE = 65_536;

/** @throws JsonPathError */
export function checkTemplateLength(text: string): void {
  if (text.length <= LONGEST_TEMPLATE) return;
  throw new JsonPathError(`the template has ${text.length} characters, and at most ${LONGEST_TEMPLATE} are read`);
}
