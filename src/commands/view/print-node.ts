/** Texts of the dashboard about a node: `d` on a node, in the layout of `kubectl describe`, and its pods. */

import type { RawNode } from '../../kube/resources/nodes.ts';
import type { PodRow } from '../../kube/resources/pods.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import type { Taint } from '../../nodepool/types.ts';
import { labelTexts, MESSAGE_WIDTH, orNone, shorten } from '../../print/cells.ts';
import { type Column, fitColumns } from '../../print/fit-columns.ts';
import { displayQuantity } from '../../print/quantity.ts';
import { type Cell, DESCRIBE, renderTable, tablePrinter } from '../../print/table.ts';
import { formatAge, formatTimeAndAge } from '../../print/time.ts';

/** Nobody would read more. */
export const MAX_PODS = 2_000;

interface PodsSetting {
  now: Date;
  /** Width of the terminal. */
  width: number;
  /** The pods are on several nodes. */
  hasNode: boolean;
}

export function renderPods(pods: readonly PodRow[], { now, width, hasNode }: PodsSetting): string {
  if (pods.length === 0) return 'No pods';
  const shown = pods.slice(0, MAX_PODS);
  const node: Column<PodRow> = { header: 'NODE', cell: pod => pod.node, rank: 1, cutFrom: Infinity, isName: true };
  const all: Column<PodRow>[] = [
    { header: 'NAMESPACE', cell: ({ namespace }) => namespace, cutFrom: 0, isName: true },
    { header: 'NAME', cell: ({ name }) => name, cutFrom: 0, isName: true },
    { header: 'READY', cell: ({ ready }) => ready, rank: 2 },
    { header: 'STATUS', cell: ({ status }) => status },
    { header: 'RESTARTS', cell: ({ restarts }) => String(restarts), rank: 4 },
    { header: 'AGE', cell: ({ creationTimestamp }) => formatAge(creationTimestamp, now), rank: 3 },
    ...(hasNode ? [node] : []),
  ];
  const columns = fitColumns(all, shown, now, width);
  const rows = shown.map(pod => columns.map(({ cell }) => cell(pod, now, Infinity)));
  const table = tablePrinter(columns.map(({ header }) => header))(rows);
  return pods.length > MAX_PODS
    ? `${table}\n… and more: only the first ${MAX_PODS.toLocaleString('en')} are shown`
    : table;
}

/** @param pods or the reason why they cannot be read */
export function renderNode(node: RawNode, pods: readonly PodRow[] | NodepoolError, now: Date, width: number): string {
  const [metadata, spec, status] = [node.metadata, node.spec, node.status].map(part => (isObject(part) ? part : {}));
  const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
  const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
  const pairs = (value: unknown) =>
    Object.entries(isObject(value) ? value : {}).map(([key, each]) => [key, String(each)] as const);
  const fields = (rows: [title: string, values: readonly string[]][]) =>
    renderTable(
      rows.flatMap(([title, values]) =>
        values.map((value, i): Cell[] => [i === 0 ? `${title}:` : '', shorten(value, MESSAGE_WIDTH)]),
      ),
      DESCRIBE,
      width,
    );
  const created = formatTimeAndAge(textOf(metadata?.creationTimestamp) || undefined, now);
  const taints = listOf(spec?.taints).map(taint => formatTaint(taint as unknown as Taint));
  const capacity = new Map(pairs(status?.capacity));
  const resources = pairs(status?.allocatable).map(([name, amount]) => {
    const of = capacity.get(name);
    const total = of === undefined || of === amount ? '' : ` of ${displayQuantity(name, of)}`;
    return `${name}: ${displayQuantity(name, amount)}${total}`;
  });
  const addresses = listOf(status?.addresses).map(({ type, address }) => `${textOf(type)}: ${textOf(address)}`);
  const info = new Map(pairs(status?.nodeInfo));
  const conditions = listOf(status?.conditions).map(condition => [
    textOf(condition.type),
    textOf(condition.status),
    textOf(condition.reason),
    formatAge(textOf(condition.lastTransitionTime) || undefined, now),
    shorten(textOf(condition.message), MESSAGE_WIDTH),
  ]);
  const head = fields([
    ['Name', [node.metadata.name]],
    ['Created', [created]],
    ['Unschedulable', [String(spec?.unschedulable === true)]],
    ['Taints', orNone(taints)],
    ['Addresses', orNone(addresses)],
    ['Allocatable', orNone(resources.toSorted())],
    ['Kubelet', [info.get('kubeletVersion') ?? '', info.get('containerRuntimeVersion') ?? ''].filter(Boolean)],
    ['System', [info.get('osImage') ?? '', info.get('kernelVersion') ?? ''].filter(Boolean)],
    ['Provider', orNone([textOf(spec?.providerID)].filter(Boolean))],
    ['Labels', orNone(labelTexts(Object.fromEntries(pairs(metadata?.labels))))],
  ]);
  const header = ['CONDITION', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'];
  const on = 'oneLine' in pods ? pods.oneLine : renderPods(pods, { now, width, hasNode: false });
  const count = 'oneLine' in pods ? 'Pods:' : `Pods (${pods.length}):`;
  return [head, '', tablePrinter(header, width)(conditions), '', count, on].join('\n');
}
