/** Comma-separated values (RFC 4180), with newlines as Unix tools want them. */
import { sanitizeLine } from './sanitize.ts';

/**
 * What a spreadsheet takes for the start of a formula, which may run a program or send the sheet away; in its wide forms,
 * too (OWASP, CSV Injection). A tab or a return at the start is an escape by then.
 */
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
/** Numbers and quantities are no formulas, whatever their sign, and stay what they are. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;
/** `;` parts cells where a comma is in numbers: what follows would be a cell of its own. */
const QUOTED = /[",;]/;

/**
 * Lines joined by newlines, without one at the end. Cells are made safe for a terminal and for a spreadsheet, which shows
 * what follows an apostrophe as text; quoted where they must be.
 */
export function renderCsv(rows: readonly (readonly string[])[]): string {
  return rows.map(row => row.map(cell).join(',')).join('\n');
}

function cell(text: string): string {
  const line = sanitizeLine(text);
  const safe = FORMULA.test(line) && !NUMBER.test(line) ? `'${line}` : line;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
