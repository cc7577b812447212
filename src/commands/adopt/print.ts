import type { PoolCandidate } from '../../nodepool/adopt/adopt.ts';
import { LIST_WIDTH, labelTexts, NONE, taintsText } from '../../print/cells.ts';
import { type Column, fittedRows } from '../../print/fit-columns.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, renderTable } from '../../print/table.ts';
import { cut } from '../../print/width.ts';

/** @param terminalWidth the table is fitted to it; undefined keeps every cell whole */
export function renderCandidates(candidates: PoolCandidate[], style: Style, terminalWidth?: number): string {
  const { header, cells } = fittedRows(columnsOf(style), candidates, terminalWidth);
  return renderTable([header, ...cells]);
}

function columnsOf(style: Style): Column<PoolCandidate>[] {
  return [
    { header: 'POOL', cell: ({ pool }) => pool.metadata.name, cutFrom: 0, isName: true },
    { header: 'STATE', cell: candidate => stateCell(candidate, style), cutFrom: 0 },
    { header: 'NODES', cell: ({ nodes }) => String(nodes.length) },
    { header: 'READY', cell: ({ nodes }) => String(nodes.filter(({ ready }) => ready).length), rank: 3 },
    // The label already shows the provider.
    { header: 'PROVIDER', cell: ({ provider }) => provider, rank: 4 },
    { header: 'LABEL', cell: ({ label }, _, width) => cut(label, width), rank: 1, cutFrom: 2 },
    { header: 'VALUE', cell: ({ value }, _, width) => (value === '' ? '""' : cut(value, width)), rank: 2, cutFrom: 2 },
    {
      header: 'LABELS',
      cell: ({ pool }, _, width) => cut(firstOf(labelTexts(pool.spec.labels)), width),
      rank: 5,
      cutFrom: Infinity,
    },
    {
      header: 'TAINTS',
      cell: ({ pool }, _, width) => cut(taintsText(pool.spec.taints, Math.min(width, LIST_WIDTH)), width),
      rank: 6,
      cutFrom: Infinity,
    },
    {
      header: 'ANNOTATIONS',
      // Annotation values may contain spaces, so only keys are shown.
      cell: ({ pool }, _, width) => cut(firstOf(Object.keys(pool.spec.annotations ?? {})), width),
      rank: 7,
      cutFrom: Infinity,
    },
  ];
}

/** One word, like every cell: scripts split lines at spaces. */
function stateCell({ state }: PoolCandidate, style: Style): Cell {
  switch (state.kind) {
    case 'new':
      return { text: 'new', paint: style.green };
    case 'adopted':
      return { text: 'adopted', paint: style.dim };
    case 'overlap':
      return { text: `overlaps:${firstOf(state.pools)}`, paint: style.yellow };
  }
}

/** `tier=gold,+2` */
function firstOf([first, ...more]: string[]): string {
  if (first === undefined) return NONE;
  return more.length === 0 ? first : `${first},+${more.length}`;
}
