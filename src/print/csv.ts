/** Comma-separated values (RFC 4180), with the newlines of Unix. */
import { sanitizeLine } from './sanitize.ts';

/**
 * The start of a formula for a spreadsheet, also as a fullwidth character: a formula may run a program or send the sheet
 * away (OWASP, CSV Injection). Tabs and carriage returns are escaped before.
 */
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
/** Numbers and quantities with a sign are no formulas. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;
/** `;` too: it separates cells in locales with a decimal comma. */
const QUOTED = /[",;]/;

/**
 * Lines joined by newlines, without one at the end. Cells are escaped for a terminal, and formulas get an apostrophe, which
 * a spreadsheet reads as text.
 */
export function renderCsv(rows: readonly (readonly string[])[]): string {
  return rows.map(row => row.map(cell).join(',')).join('\n');
}

function cell(text: string): string {
  const line = sanitizeLine(text);
  const safe = FORMULA.test(line) && !NUMBER.test(line) ? `'${line}` : line;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
