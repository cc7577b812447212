/** The table of `kubectl nodepool adopt`. */
import type { Candidate } from '../nodepool/adopt.ts';
import { NONE, pairs, taintsText } from './cells.ts';
import type { Style } from './style.ts';
import { type Cell, renderTable } from './table.ts';

const HEADER = ['POOL', 'STATE', 'NODES', 'READY', 'PROVIDER', 'LABEL', 'VALUE', 'LABELS', 'TAINTS'];
/** Taints beyond this many characters are counted. */
const TAINTS_WIDTH = 32;

export function renderCandidates(candidates: Candidate[], style: Style): string {
  return renderTable([HEADER, ...candidates.map(candidate => row(candidate, style))]);
}

function row(candidate: Candidate, style: Style): Cell[] {
  const { provider, label, value, nodes, pool } = candidate;
  return [
    pool.metadata.name,
    stateCell(candidate, style),
    String(nodes.length),
    String(nodes.filter(({ ready }) => ready).length),
    provider,
    label,
    value === '' ? '""' : value,
    firstOf(pairs(pool.spec.labels)),
    taintsText(pool.spec.taints, TAINTS_WIDTH),
  ];
}

/** One word, as every cell: scripts split lines at spaces. */
function stateCell({ state }: Candidate, style: Style): Cell {
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
