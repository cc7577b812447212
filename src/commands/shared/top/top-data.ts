/** `top -o json|yaml|csv`: exact quantities, and plain numbers (cores, bytes, counts) for calculations. */
import { formatQuantity, type Quantity, quantityToNumber } from '../../../nodepool/quantity/quantity.ts';
import {
  MEASURES,
  percentOf,
  type ResourceFigures,
  type ResourceTotals,
  takesPods,
} from '../../../nodepool/quantity/resource-usage.ts';
import { printDocument, renderCsv } from '../../../print/printers.ts';
import type { TopNode, TopPod, TopPool, TopResult } from './top.ts';

/** The kinds of objects or lines in the output. */
type RowKind = 'pools' | 'nodes' | 'pods';

/** Pools, and other rows if requested. Without the last newline. */
export function printTop(found: TopResult, rows: RowKind, format: 'json' | 'yaml'): string {
  const { nodes, pods } = found;
  const fields = {
    ...usageFields(found),
    ...(rows === 'nodes' ? { nodes: nodes.map(nodeJson) } : {}),
    ...(rows === 'pods' ? { pods: pods.map(podJson) } : {}),
  };
  return printDocument('PoolUsage', fields, format);
}

/** For each pool, the nodes without a pool, and the total. */
export function usageFields({ pools, total }: Pick<TopResult, 'pools' | 'total'>) {
  const existing = pools.filter(({ pool }) => pool !== undefined);
  const rest = pools.find(({ pool }) => pool === undefined);
  return {
    pools: existing.map(({ pool, tally }) => ({ name: pool, ...tallyJson(tally) })),
    ...(rest === undefined ? {} : { unassigned: tallyJson(rest.tally) }),
    total: tallyJson(total),
  };
}

function podJson({ pod: { namespace, name, node }, pool, tally }: TopPod) {
  return { namespace, name, node, ...(pool === undefined ? {} : { pool }), resources: resourcesJson(tally) };
}

function nodeJson({ node, pool, tally }: TopNode) {
  const { name, ready, unschedulable } = node;
  return { name, ...(pool === undefined ? {} : { pool }), ready, unschedulable, resources: resourcesJson(tally) };
}

function tallyJson(tally: ResourceTotals) {
  return { nodeCount: tally.nodes, schedulableNodeCount: tally.schedulable, resources: resourcesJson(tally) };
}

function resourcesJson({ figures }: Pick<ResourceTotals, 'figures'>) {
  return Object.fromEntries([...figures].map(([resource, its]) => [resource, figuresJson(its)]));
}

function figuresJson(figures: ResourceFigures) {
  const known = MEASURES.flatMap(measure => {
    const quantity = figures[measure];
    if (quantity === undefined) return [];
    return [[measure, { quantity: formatQuantity(quantity), value: numberOf(quantity) }] as const];
  });
  return {
    ...Object.fromEntries(known),
    requestedPercent: rounded(percentOf(figures, 'requested')),
    limitsPercent: rounded(percentOf(figures, 'limits')),
    usedPercent: rounded(percentOf(figures, 'used')),
  };
}

/** Undefined for infinity, which JSON cannot represent. */
function numberOf(quantity: Quantity): number | undefined {
  const value = quantityToNumber(quantity);
  return Number.isFinite(value) ? value : undefined;
}

/** Rounded to hundredths. */
function rounded(percent: number | undefined): number | undefined {
  return percent === undefined ? undefined : Math.round(percent * 100) / 100;
}

/** The columns of version 0.1.0; newer ones come last. */
const FIRST = MEASURES.filter(measure => measure !== 'maxFree');
const FIGURES = [
  'resource',
  ...FIRST.flatMap(measure => [measure, `${measure}Value`]),
  'requestedPercent',
  'limitsPercent',
  'usedPercent',
  'maxFree',
  'maxFreeValue',
];

const HEADS: Readonly<Record<RowKind, string[]>> = {
  pools: ['pool', 'nodes', 'schedulableNodes'],
  nodes: ['node', 'pool', 'schedulable'],
  pods: ['namespace', 'pod', 'node', 'pool'],
};

/** A line for each resource of each pool, node or pod, without totals; unknown values are empty. */
export function topCsv(
  { pools, nodes, pods }: TopResult,
  { rows, headers }: { rows: RowKind; headers: boolean },
): string {
  const header = [...HEADS[rows], ...FIGURES];
  const lines = {
    pools: () => pools.flatMap(poolRows),
    nodes: () => nodes.flatMap(nodeRows),
    pods: () => pods.flatMap(podRows),
  };
  const found = lines[rows]();
  return renderCsv(headers ? [header, ...found] : found);
}

function podRows({ pod: { namespace, name, node }, pool = '', tally }: TopPod): string[][] {
  return figureRows([namespace, name, node, pool], tally);
}

function poolRows({ pool = '', tally }: TopPool): string[][] {
  return figureRows([pool, String(tally.nodes), String(tally.schedulable)], tally);
}

function nodeRows({ node, pool = '', tally }: TopNode): string[][] {
  return figureRows([node.name, pool, String(takesPods(node))], tally);
}

function figureRows(head: string[], { figures }: Pick<ResourceTotals, 'figures'>): string[][] {
  return [...figures].map(([resource, its]) => [
    ...head,
    resource,
    ...FIRST.flatMap(measure => quantityCells(its[measure])),
    ...(['requested', 'limits', 'used'] as const).map(measure => String(rounded(percentOf(its, measure)) ?? '')),
    ...quantityCells(its.maxFree),
  ]);
}

function quantityCells(quantity: Quantity | undefined): string[] {
  return quantity === undefined ? ['', ''] : [formatQuantity(quantity), String(numberOf(quantity) ?? '')];
}
