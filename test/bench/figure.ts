/** One measured number. */
export interface Figure {
  name: string;
  value: number;
  /** x: times of something else. */
  unit: 'x' | 's' | 'MB' | 'ms' | '%' | '';
  /** Most that is allowed. */
  most?: number;
}
