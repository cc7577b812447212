import type { NodeLine } from '../render/cordon.ts';
import { errorLine } from './error-line.ts';
import type { Io } from './io.ts';

/** Prints a line where it belongs. Its text is escaped by the renderer, an error by errorLine(). */
export function printLine(line: NodeLine, io: Io): void {
  if (line.to === 'out') io.out(line.text);
  else io.err(line.to === 'error' ? errorLine(line) : line.text);
}
