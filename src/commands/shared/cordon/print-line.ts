import { showError } from '../../../cli/error-line.ts';
import type { Io } from '../../../cli/io.ts';
import type { NodeLine } from './print-cordon.ts';

/** Prints a line where it belongs. Its text is escaped by the renderer, an error by showError(). */
export function printLine(line: NodeLine, io: Io): void {
  if (line.to === 'out') io.out(line.text);
  else if (line.to === 'error') showError(io, line);
  else io.err(line.text);
}
