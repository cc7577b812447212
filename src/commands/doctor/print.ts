/** The output of `doctor`: one line per check, with details and the next step below it. */
import { andMore, firstFew, plural } from '../../nodepool/text.ts';
import { shorten } from '../../print/cells.ts';
import { printDocument } from '../../print/printers.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, columnWidths, DESCRIBE, renderTable } from '../../print/table.ts';
import type { Check, CheckStatus, PermissionRow } from '../shared/check.ts';

/** Maximum characters of a text: the message of a condition or a server may be a megabyte long. */
const MAX_SHOWN = 1000;
/** Maximum details of a check: thousands of nodes may have the same problem. `-o json` has all. */
const MAX_DETAILS = 50;
/** Words for the summary. */
const STATUSES: Readonly<Record<CheckStatus, string>> = {
  error: 'error',
  warning: 'warning',
  ok: 'passed',
  skipped: 'skipped',
};

/** `quiet`: only problems, without a summary; empty if there are none. */
export type ShownChecks = 'problems' | 'all' | 'quiet';

/** Problems come first. Without the last newline. @param terminalWidth texts are wrapped to it */
export function renderChecks(checks: Check[], shown: ShownChecks, style: Style, terminalWidth?: number): string {
  const problems = checks.filter(isProblem);
  const rest = shown === 'all' ? checks.filter(check => !isProblem(check)) : [];
  const parts = folded([...problems, ...rest]).map(({ name, status, message, details, remedy, permissions = [] }) => {
    const first: Cell[] = [statusCell(status, style), name, shorten(message, MAX_SHOWN)];
    const more = permissions.length > 0 ? [] : detailLines(details).map(line => ['', '', line]);
    const last = remedy === undefined ? [] : [['', '', shorten(`next: ${remedy}`, MAX_SHOWN)]];
    return { above: [first, ...more], permissions, last };
  });
  const widths = columnWidths(parts.flatMap(({ above, last }) => [...above, ...last]));
  const render = (rows: Cell[][], others: Cell[][]) =>
    rows.length === 0 ? [] : [renderTable(rows, DESCRIBE, terminalWidth, widths, others)];
  const lines = parts.flatMap(({ above, permissions, last }) => [
    ...render(above, last),
    ...permissionLines(permissions, terminalWidth),
    ...render(last, above),
  ]);
  if (shown === 'quiet') return lines.join('\n');
  const hidden = checks.length > problems.length + rest.length ? '; --all shows them' : '';
  return [...lines, ...(lines.length > 0 ? [''] : []), summary(checks) + hidden].join('\n');
}

function isProblem({ status }: Check): boolean {
  return status === 'warning' || status === 'error';
}

const PIPE_WIDTH = 120;
/** Columns where VERBS, RESOURCE and COMMANDS begin; the rare longer cell shifts the rest of its line. */
const STARTS = [2, 38, 74];
const NARROW_STARTS = [2, 29, 62];

/** Starts at the left edge: if indented below the message, commands would not fit into 80 columns. */
function permissionLines(rows: readonly PermissionRow[], width = PIPE_WIDTH): string[] {
  if (rows.length === 0) return [];
  const starts = width < PIPE_WIDTH ? NARROW_STARTS : STARTS;
  const line = (cells: string[]) =>
    cells.reduce((before, cell, i) => `${before.trimEnd()}  `.padEnd(starts[i] ?? 0) + sanitizeLine(cell), '');
  return [
    line(['VERBS', 'RESOURCE', 'COMMANDS']),
    ...rows.map(({ verbs, resource, commands }) => {
      const room = width - line([verbs, resource, '']).length;
      return line([verbs, resource, fitting(commands, room)]);
    }),
  ];
}

/** As many names as fit, and the number of the others. */
function fitting(names: readonly string[], width: number): string {
  const most = names.findLastIndex((_, last) => firstFew(names, last + 1).length <= width) + 1;
  return most > 0 ? firstFew(names, most) : plural(names.length, 'command');
}

/** Consecutive skipped checks with the same reason become one line: the check before them reports the problem. */
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

function detailLines(details: readonly string[]): string[] {
  return [
    ...details.slice(0, MAX_DETAILS).map(detail => shorten(`- ${detail}`, MAX_SHOWN)),
    ...(details.length > MAX_DETAILS ? [andMore(details.length - MAX_DETAILS, '- ')] : []),
  ];
}

/** As JSON or YAML; `status` is the worst of all checks. */
export function printChecks(checks: Check[], format: 'json' | 'yaml'): string {
  return printDocument(
    'DoctorReport',
    { status: worstStatus(checks), checks: checks.map(({ permissions: _, ...check }) => check) },
    format,
  );
}

/** The worst status. A skipped check does not count, because the check that it depends on does. */
export function worstStatus(checks: Check[]): CheckStatus {
  const has = (status: CheckStatus) => checks.some(check => check.status === status);
  return has('error') ? 'error' : has('warning') ? 'warning' : 'ok';
}

function statusCell(status: CheckStatus, style: Style): Cell {
  const paint = { ok: style.green, warning: style.yellow, error: style.red, skipped: style.dim }[status];
  return { text: status, paint };
}

/** `14 checks: 1 error, 1 warning, 12 passed` */
function summary(checks: Check[]): string {
  const counts = Object.entries(STATUSES).flatMap(([status, word]) => {
    const count = checks.filter(check => check.status === status).length;
    if (count === 0) return [];
    return [status === 'error' || status === 'warning' ? plural(count, word) : `${count} ${word}`];
  });
  return `${plural(checks.length, 'check')}: ${counts.join(', ')}`;
}
