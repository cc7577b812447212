import { printDocument } from '../../print/printers.ts';
import { usageFields } from '../shared/top/top-data.ts';
import type { ListExcerpt, Report } from './run.ts';

/** Without the last newline. Long lists are cut and have a total, as on the page. */
export function printReport(report: Report, format: 'json' | 'yaml'): string {
  const { context = null, clusterName, serverVersion = null, time, trend, warnings } = report;
  const fields = {
    ...{ context, cluster: clusterName, serverVersion, time: time.toISOString(), warnings },
    pools: listOf(report.pools, ({ pool, live, unschedulable, conflicts }) => ({
      ...{ name: pool.metadata.name, status: pool.status?.status ?? null },
      ...{ nodeCount: live.nodes, readyNodeCount: live.ready, unschedulableNodeCount: unschedulable },
      ...{ dueNodeCount: live.due, driftedNodeCount: live.drifted, conflictCount: conflicts },
    })),
    conditions: listOf(report.conditions, ({ pool, condition }) => ({ pool, condition })),
    capacity: usageFields(report.capacity),
    due: listOf(report.due, ({ node, pool = null, leaving, changes }) => ({
      ...{ name: node.name, pool, leaving, changes },
    })),
    conflicts: listOf(report.conflicts, ({ node, pool, owner }) => ({ node, pool, owner })),
    maintenance: listOf(report.maintenance, ({ node, pool = null, maintenance, isOverdue }) => ({
      ...{ node, pool, isOverdue, owner: maintenance?.owner.name ?? null, since: maintenance?.since ?? null },
      ...{ until: maintenance?.until ?? null, reason: maintenance?.reason ?? null },
    })),
    trend: trend.counts.map(({ from, normal, warning }) => ({ from: from.toISOString(), normal, warning })),
    events: listOf(report.events, ({ poolUid: _poolUid, ...event }) => event),
  };
  return printDocument('PoolReport', fields, format);
}

function listOf<T>({ items, total }: ListExcerpt<T>, item: (each: T) => object) {
  return { items: items.map(item), total };
}
