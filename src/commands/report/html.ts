/**
 * A tagged template for HTML: every value is escaped, whoever wrote it, but what such a template made. The only place that
 * decides on it.
 */
import { sanitizeLine } from '../../print/sanitize.ts';

/** What a template made: it is not escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | undefined | readonly Value[];

/** Attributes are to be quoted. Of a list the items follow each other; undefined is nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.map((string, at) => string + textOf(values[at])).join(''));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function textOf(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(textOf).join('');
  // What is not seen, or turns a line around, would forge a page as it would a terminal.
  return sanitizeLine(String(value)).replace(/[&<>"'`]/g, character => ENTITIES[character] ?? '');
}
