import { plural } from '../../nodepool/text.ts';
import { NONE } from '../../print/cells.ts';
import { type Column, fittedRows } from '../../print/fit-columns.ts';
import { printDocument } from '../../print/printers.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import type { Style } from '../../print/style.ts';
import { DESCRIBE, tablePrinter } from '../../print/table.ts';
import { wrapWords } from '../../print/width.ts';
import { BY_ORDER } from '../../scheduling/bounds.ts';
import { reasonsText } from '../../scheduling/fit-reasons.ts';
import { amountText } from '../../scheduling/node/resources.ts';
import type { FitRow, PodFit } from './run.ts';

export interface FitTable {
  headers: boolean;
  /** Undefined: no wrapping. */
  columns: number | undefined;
  /** The value in the command line. */
  replicas: number | undefined;
}

/** Without the last newline. */
export function renderFit(fits: readonly PodFit[], options: FitTable, style: Style): string {
  const alone = fits.length > 1 ? ['Each document is judged alone.'] : [];
  return [...fits.map(fit => renderOne(fit, options, style)), ...alone].join('\n\n');
}

function renderOne(fit: PodFit, { headers, columns, replicas }: FitTable, style: Style): string {
  const { rows, total, subject } = fit;
  const all = rows.length > 1 ? [...rows, total] : rows;
  const { header, cells } = fittedRows(columnsOf(total, style), all, columns, DESCRIBE);
  const table = tablePrinter(headers ? header : undefined, columns, DESCRIBE)(cells);
  const title = headers ? [sanitizeLine(titleOf(fit))] : [];
  const lines = [
    ...(replicas === undefined ? [] : [enoughText(fit, replicas)]),
    ...(subject.exists ? ['Evaluated as a new pod; its current slot counts as free.'] : []),
    ...(subject.daemon?.surges ? ['Running pods of the DaemonSet keep their room, because it has maxSurge.'] : []),
    ...(subject.ofRequests === undefined ? [] : [tolerationText(subject.ofRequests)]),
    ...(all.some(({ replicas: { least, most } }) => least < most) ? [ORDER] : []),
    ...quotaLines(fit, replicas),
    ...(fit.refused === undefined ? [] : [`The server rejects this pod: ${fit.refused}`]),
    ...fit.notJudged.map(text => `Not considered: ${text}.`),
  ];
  return [
    ...title,
    ...(all.length > 0 ? [table] : ['No pools found.']),
    ...lines.flatMap(line => wrapWords(sanitizeLine(line), columns ?? Infinity)),
  ].join('\n');
}

function tolerationText({ tolerates }: { tolerates: string | undefined }): string {
  const tolerations =
    tolerates === undefined ? 'no tolerations' : `only a toleration of the taint ${tolerates}:NoSchedule`;
  return `The pod has ${tolerations} and no selector; use -f FILE for a pod with its own.`;
}

function titleOf({ subject, pod }: PodFit): string {
  const requests = [...pod.requests].map(([name, amount]) => `${name} ${amountText(name, amount)}`);
  return `${subject.title}: ${requests.length === 0 ? 'requests nothing' : requests.join(', ')}`;
}

const ORDER = `N-M: N replicas always fit, M at best; ${BY_ORDER}.`;

/** Only if the quota allows fewer replicas than requested, or than the nodes take. */
function quotaLines({ quota, subject, total }: PodFit, replicas: number | undefined): string[] {
  if (quota === undefined || quota.replicas >= (replicas ?? total.replicas.most)) return [];
  const { name, resource } = quota;
  return [`ResourceQuota ${subject.namespace}/${name} allows ${plural(quota.replicas, 'more pod')}: ${resource}.`];
}

function enoughText({ total, refused, quota }: PodFit, replicas: number): string {
  const allowed = quota?.replicas ?? Infinity;
  const [least, most] = [Math.min(total.replicas.least, allowed), Math.min(total.replicas.most, allowed)];
  const fit =
    least >= replicas
      ? `${plural(replicas, 'replica')} fit`
      : `${least < most ? `Between ${least} and ${Math.min(most, replicas)}` : least} of ${plural(replicas, 'replica')} fit`;
  return refused === undefined ? `${fit}.` : `${fit}, by the scheduler's rules.`;
}

function columnsOf(total: FitRow, style: Style): Column<FitRow>[] {
  return [
    {
      header: 'POOL',
      cell: row => (row === total ? { text: 'TOTAL', paint: style.bold } : (row.pool ?? NONE)),
      cutFrom: 0,
      isName: true,
    },
    {
      header: 'FITS',
      cell: ({ replicas }) =>
        replicas.least > 0 ? { text: 'yes', paint: style.green } : { text: 'no', paint: style.red },
    },
    { header: 'NODES', cell: ({ takers, nodes }) => `${takers}/${nodes}` },
    { header: 'REPLICAS', cell: ({ replicas: { least, most } }) => (least < most ? `${least}-${most}` : `${least}`) },
    {
      header: 'WHY',
      cell: row => (row.takers === row.nodes ? NONE : reasonsText(row.reasons.list(), row === total)),
      isText: true,
    },
  ];
}

// `fit -o json|yaml`. docs/commands/output.md describes the fields.

/** Without the last newline. */
export function printFit(fits: readonly PodFit[], format: 'json' | 'yaml'): string {
  return printDocument('PodFitList', { items: fits.map(fitJson) }, format);
}

function fitJson({ subject, pod, rows, total, refused, quota, fits, notJudged }: PodFit) {
  const { kind, namespace, name, exists } = subject;
  const poolRows = rows.filter(({ pool }) => pool !== undefined);
  const rest = rows.find(({ pool }) => pool === undefined);
  return {
    object: { kind, namespace, name },
    exists,
    requests: Object.fromEntries(
      [...pod.requests].map(([resource, amount]) => [resource, amountText(resource, amount)]),
    ),
    fits,
    pools: poolRows.map(row => ({ name: row.pool, ...rowJson(row) })),
    ...(rest === undefined ? {} : { unassigned: rowJson(rest) }),
    total: rowJson(total),
    ...(refused === undefined ? {} : { refused }),
    ...(quota === undefined ? {} : { quota }),
    notJudged,
  };
}

function rowJson({ nodes, takers, replicas: { least, most }, reasons }: FitRow) {
  return {
    fits: least > 0,
    nodeCount: nodes,
    fittingNodeCount: takers,
    replicas: least,
    maxReplicas: most,
    reasons: reasons.list().map(({ words, nodes: count, details }) => ({ message: words, nodeCount: count, details })),
  };
}
