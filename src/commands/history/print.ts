import { printDocument, renderCsv } from '../../print/printers.ts';
import type { TimelineEntry } from '../shared/describe/print-timeline.ts';
import type { Timeline } from './run.ts';

/** Without the last newline. @param entries the filtered entries of the history */
export function printTimeline(
  { subject }: Timeline,
  entries: readonly TimelineEntry[],
  format: 'json' | 'yaml',
): string {
  const items = entries.map(
    ({ time = null, what, who = null, detail, sources, pool, node, count, firstTime, isWarning = false }) => ({
      ...{ time, what, who, detail, sources, pool, node },
      ...(count === undefined ? {} : { count, firstTime }),
      isWarning,
    }),
  );
  return printDocument('History', { subject, items }, format);
}

export function timelineCsv(entries: readonly TimelineEntry[], headers: boolean): string {
  const rows = entries.map(({ time = '', what, who = '', pool = '', node = '', detail, sources }) => [
    ...[time, what, who, pool, node, detail],
    sources.join(' '),
  ]);
  return renderCsv(headers ? [['time', 'what', 'who', 'pool', 'node', 'detail', 'sources'], ...rows] : rows);
}
