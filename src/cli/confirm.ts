import { createInterface } from 'node:readline';
import { sanitizeText } from '../render/sanitize.ts';
import type { Io } from './io.ts';

/** Whether there is somebody to ask. */
export function canAsk({ stdinIsTTY, stderrIsTTY }: Io): boolean {
  return stdinIsTTY && stderrIsTTY;
}

/**
 * Asks on stderr and reads a line from stdin: only y or yes is a yes. Scripts are not asked: without a terminal on both
 * ends the answer is yes, as for `kubectl delete`.
 */
export async function confirm(io: Io, question: string): Promise<boolean> {
  if (!canAsk(io)) return true;
  // Not readline's own terminal mode: it would take Ctrl-C for itself.
  const lines = createInterface({ input: io.stdin, terminal: false });
  io.stderr.write(`${sanitizeText(question)} [y/N] `);
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    // The end of the input (Ctrl-D) leaves the cursor behind the question.
    io.err('');
    return false;
  } finally {
    lines.close();
  }
}

/** The same for what must not happen unasked: in scripts, where nobody can say yes, it throws what `refusal` gives. */
export async function confirmOrRefuse(io: Io, question: string, refusal: () => Error): Promise<boolean> {
  if (!canAsk(io)) throw refusal();
  return confirm(io, question);
}
