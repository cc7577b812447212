/** Comma-separated values (RFC 4180), with newlines as Unix tools want them. */
import { sanitizeLine } from './sanitize.ts';

/** Lines joined by newlines, without one at the end. Cells are made safe for a terminal, and quoted where they must be. */
export function renderCsv(rows: readonly (readonly string[])[]): string {
  return rows.map(row => row.map(cell).join(',')).join('\n');
}

function cell(text: string): string {
  const safe = sanitizeLine(text);
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
