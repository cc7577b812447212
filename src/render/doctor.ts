/** The output of `doctor`: a line for each check, with details and the next step below. */
import { andMore, plural } from '../nodepool/plural.ts';
import type { Check, CheckStatus } from '../operations/doctor/check.ts';
import { shorten } from './cells.ts';
import { printDocument } from './documents.ts';
import type { Style } from './style.ts';
import { type Cell, columnWidths, DESCRIBE, fit, renderTable } from './table.ts';

/** Characters of a text: a message of a condition or a server may have a megabyte. */
const MAX_SHOWN = 1000;
/** Details of a check: thousands of nodes may have the same problem. `-o json` has all. */
const MAX_DETAILS = 50;
const STATUSES: readonly CheckStatus[] = ['ok', 'warning', 'error', 'skipped'];

/**
 * The status is a word, so that it can be read without colour. Without the last newline.
 * @param terminalWidth to which texts are wrapped
 */
export function renderChecks(checks: Check[], style: Style, terminalWidth?: number): string {
  const rows = folded(checks).flatMap(({ name, status, message, details, remedy, table }): Cell[][] => [
    [statusCell(status, style), name, shorten(message, MAX_SHOWN)],
    ...detailLines(details, table).map(line => ['', '', line]),
    ...(remedy === undefined ? [] : [['', '', shorten(`next: ${remedy}`, MAX_SHOWN)]]),
  ]);
  return `${renderTable(rows, DESCRIBE, terminalWidth)}\n\n${summary(checks)}`;
}

/** Skipped checks in a row that have one reason are one line: the check before says what is wrong. */
function folded(checks: readonly Check[]): (Omit<Check, 'id'> & { name: string })[] {
  const lines: (Check & { last: string; count: number })[] = [];
  for (const check of checks) {
    const before = lines.at(-1);
    const isAlike = check.status === 'skipped' && before?.status === 'skipped' && before.message === check.message;
    if (isAlike) Object.assign(before, { last: check.id, count: before.count + 1 });
    else lines.push({ ...check, last: check.id, count: 1 });
  }
  return lines.map(({ id, last, count, ...rest }) =>
    count === 1
      ? { ...rest, name: id }
      : { ...rest, name: `${id} - ${last}`, message: `${rest.message} (${count} checks)` },
  );
}

function detailLines(details: readonly string[], table: string[][] | undefined): string[] {
  const [lines, mark] = table === undefined ? [details, '- '] : [tableLines(table), ''];
  return [
    ...lines.slice(0, MAX_DETAILS).map(line => shorten(`${mark}${line}`, MAX_SHOWN)),
    ...(lines.length > MAX_DETAILS ? [andMore(lines.length - MAX_DETAILS, mark)] : []),
  ];
}

function tableLines(table: string[][]): string[] {
  const widths = columnWidths(table);
  return table.map(row =>
    row.map((cell, at) => (at === row.length - 1 ? cell : fit(cell, (widths[at] ?? 0) + 2))).join(''),
  );
}

/** As JSON or YAML; `status` is the worst of all. */
export function printChecks(checks: Check[], format: 'json' | 'yaml'): string {
  return printDocument(
    'DoctorReport',
    { status: worst(checks), checks: checks.map(({ table: _, ...check }) => check) },
    format,
  );
}

/** The worst status; a skipped check does not count, the one that it depends on does. */
export function worst(checks: Check[]): CheckStatus {
  const has = (status: CheckStatus) => checks.some(check => check.status === status);
  return has('error') ? 'error' : has('warning') ? 'warning' : 'ok';
}

function statusCell(status: CheckStatus, style: Style): Cell {
  const paint = { ok: style.green, warning: style.yellow, error: style.red, skipped: style.dim }[status];
  return { text: status, paint };
}

/** `14 checks: 12 ok, 1 warning, 1 error` */
function summary(checks: Check[]): string {
  const counts = STATUSES.flatMap(status => {
    const count = checks.filter(check => check.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return `${plural(checks.length, 'check')}: ${counts.join(', ')}`;
}
