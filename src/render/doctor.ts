/** The output of `doctor`: a line for each check, with details and the next step below. */
import { andMore, plural } from '../nodepool/plural.ts';
import type { Check, CheckStatus } from '../operations/doctor/check.ts';
import { shorten } from './cells.ts';
import { printDocument } from './documents.ts';
import type { Style } from './style.ts';
import { type Cell, DESCRIBE, renderTable } from './table.ts';

/** Characters of a text: a message of a condition or a server may have a megabyte. */
const MAX_SHOWN = 1000;
/** Details of a check: thousands of nodes may have the same problem. `-o json` has all. */
const MAX_DETAILS = 50;
const STATUSES: readonly CheckStatus[] = ['ok', 'warning', 'error', 'skipped'];

/** The status is a word, so that it can be read without colour. Without the last newline. */
export function renderChecks(checks: Check[], style: Style): string {
  const rows = checks.flatMap(({ id, status, message, details, remedy }): Cell[][] => [
    [statusCell(status, style), id, shorten(message, MAX_SHOWN)],
    ...details.slice(0, MAX_DETAILS).map(detail => ['', '', shorten(`- ${detail}`, MAX_SHOWN)]),
    ...(details.length > MAX_DETAILS ? [['', '', andMore(details.length - MAX_DETAILS, '- ')]] : []),
    ...(remedy === undefined ? [] : [['', '', shorten(`next: ${remedy}`, MAX_SHOWN)]]),
  ]);
  return `${renderTable(rows, DESCRIBE)}\n\n${summary(checks)}`;
}

/** As JSON or YAML; `status` is the worst of all. */
export function printChecks(checks: Check[], format: 'json' | 'yaml'): string {
  return printDocument('DoctorReport', { status: worst(checks), checks }, format);
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
