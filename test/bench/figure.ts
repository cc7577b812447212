import type { Interval } from './statistics.ts';

/** One measured number. */
export interface Figure {
  name: string;
  value: number;
  /** x: a multiple of something else. */
  unit: 'x' | 's' | 'MB' | 'ms' | '%' | '';
  /** The limit. */
  most?: number;
  /** The 95 % interval of the value, where it is known. */
  interval?: Interval;
}
