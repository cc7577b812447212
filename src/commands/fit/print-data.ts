/** `fit -o json|yaml`. docs/commands/output.md describes the fields. */

import { printDocument } from '../../print/documents.ts';
import { amountText } from '../../scheduling/node/resources.ts';
import type { Fit, FitRow } from './run.ts';

/** Without the last newline. */
export function printFit(fits: readonly Fit[], format: 'json' | 'yaml'): string {
  return printDocument('PodFitList', { items: fits.map(fitJson) }, format);
}

function fitJson({ subject, pod, rows, total, refused, fits, notJudged }: Fit) {
  const { kind, namespace, name, exists } = subject;
  const own = rows.filter(({ pool }) => pool !== undefined);
  const rest = rows.find(({ pool }) => pool === undefined);
  return {
    object: { kind, namespace, name },
    exists,
    requests: Object.fromEntries(
      [...pod.requests].map(([resource, amount]) => [resource, amountText(resource, amount)]),
    ),
    fits,
    pools: own.map(row => ({ name: row.pool, ...rowJson(row) })),
    ...(rest === undefined ? {} : { unassigned: rowJson(rest) }),
    total: rowJson(total),
    ...(refused === undefined ? {} : { refused }),
    notJudged,
  };
}

function rowJson({ nodes, takers, replicas, isAtLeast, reasons }: FitRow) {
  return {
    fits: replicas > 0,
    nodeCount: nodes,
    fittingNodeCount: takers,
    replicas,
    replicasIsLowerBound: isAtLeast,
    reasons: reasons.list().map(({ words, nodes: count, details }) => ({ message: words, nodeCount: count, details })),
  };
}
