import type { NodeLine } from '../render/cordon.ts';
import { errorLine } from './error-line.ts';
import type { Io } from './io.ts';

/** Results are made safe where they are rendered; io makes the rest so. */
export function printLine(line: NodeLine, io: Io): void {
  if (line.to === 'out') io.out(line.text);
  else io.err(line.to === 'error' ? errorLine(line) : line.text);
}
