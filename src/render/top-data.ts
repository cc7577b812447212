/** `top -o json|yaml|csv`: exact quantities, and numbers (cores, bytes, counts) to calculate with. */

import { formatQuantity, type Quantity, quantityToNumber } from '../nodepool/quantity.ts';
import { type Figures, MEASURES, percentOf, type Tally, takesPods } from '../nodepool/resource-usage.ts';
import type { Top, TopNode, TopPool } from '../operations/top.ts';
import { renderCsv } from './csv.ts';
import { printDocument } from './documents.ts';

/** Without the last newline. */
export function printTop({ pools, nodes, total }: Top, withNodes: boolean, format: 'json' | 'yaml'): string {
  const own = pools.filter(({ pool }) => pool !== undefined);
  const rest = pools.find(({ pool }) => pool === undefined);
  const fields = {
    pools: own.map(({ pool, tally }) => ({ name: pool, ...tallyJson(tally) })),
    ...(rest === undefined ? {} : { unassigned: tallyJson(rest.tally) }),
    total: tallyJson(total),
    ...(withNodes ? { nodes: nodes.map(nodeJson) } : {}),
  };
  return printDocument('PoolUsage', fields, format);
}

function nodeJson({ node, pool, tally }: TopNode) {
  const { name, ready, unschedulable } = node;
  return { name, ...(pool === undefined ? {} : { pool }), ready, unschedulable, resources: resourcesJson(tally) };
}

function tallyJson(tally: Tally) {
  return { nodeCount: tally.nodes, schedulableNodeCount: tally.schedulable, resources: resourcesJson(tally) };
}

function resourcesJson({ figures }: Tally) {
  return Object.fromEntries([...figures].map(([resource, its]) => [resource, figuresJson(its)]));
}

function figuresJson(figures: Figures) {
  const known = MEASURES.flatMap(measure => {
    const quantity = figures[measure];
    if (quantity === undefined) return [];
    return [[measure, { quantity: formatQuantity(quantity), value: numberOf(quantity) }] as const];
  });
  return {
    ...Object.fromEntries(known),
    requestedPercent: rounded(percentOf(figures.requested, figures)),
    limitsPercent: rounded(percentOf(figures.limits, figures)),
    usedPercent: rounded(percentOf(figures.used, figures)),
  };
}

/** Undefined for infinity, which JSON does not have. */
function numberOf(quantity: Quantity): number | undefined {
  const value = quantityToNumber(quantity);
  return Number.isFinite(value) ? value : undefined;
}

/** To hundredths. */
function rounded(percent: number | undefined): number | undefined {
  return percent === undefined ? undefined : Math.round(percent * 100) / 100;
}

const FIGURES = [
  'resource',
  ...MEASURES.flatMap(measure => [measure, `${measure}Value`]),
  'requestedPercent',
  'limitsPercent',
  'usedPercent',
];

/** A line for each resource of each pool, or of each node; unknown values are empty. Without totals. */
export function topCsv(
  { pools, nodes }: Top,
  { withNodes, headers }: { withNodes: boolean; headers: boolean },
): string {
  const header = [...(withNodes ? ['node', 'pool', 'schedulable'] : ['pool', 'nodes', 'schedulableNodes']), ...FIGURES];
  const rows = withNodes ? nodes.flatMap(nodeRows) : pools.flatMap(poolRows);
  return renderCsv(headers ? [header, ...rows] : rows);
}

function poolRows({ pool = '', tally }: TopPool): string[][] {
  return figureRows([pool, String(tally.nodes), String(tally.schedulable)], tally);
}

function nodeRows({ node, pool = '', tally }: TopNode): string[][] {
  return figureRows([node.name, pool, String(takesPods(node))], tally);
}

function figureRows(head: string[], { figures }: Tally): string[][] {
  return [...figures].map(([resource, its]) => [
    ...head,
    resource,
    ...MEASURES.flatMap(measure => quantityCells(its[measure])),
    ...[its.requested, its.limits, its.used].map(quantity => String(rounded(percentOf(quantity, its)) ?? '')),
  ]);
}

function quantityCells(quantity: Quantity | undefined): string[] {
  return quantity === undefined ? ['', ''] : [formatQuantity(quantity), String(numberOf(quantity) ?? '')];
}
