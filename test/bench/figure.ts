/** One measured number. */
export interface Figure {
  name: string;
  value: number;
  /** x: a multiple of something else. */
  unit: 'x' | 's' | 'MB' | 'ms' | '%' | '';
  /** The limit. */
  most?: number;
  /** Of each round, where the value is their median. */
  samples?: readonly number[];
}
