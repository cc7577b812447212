import type { Cell } from '../print/table.ts';

/** A column of a list. */
export interface Column<Row> {
  title: string;
  /** Shift and this letter sorts by it. */
  letter: string;
  cell(row: Row, now: Date): Cell;
  value(row: Row): string | number;
  align?: 'right';
  /** The first press sorts from the largest. */
  descending?: boolean;
  /** On a narrow screen columns with a higher number are dropped first; 0 is never dropped. */
  rank: number;
  /** It is cut to this width before others are dropped. */
  shrinks?: number;
}
