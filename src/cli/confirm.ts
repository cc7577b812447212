import { createInterface } from 'node:readline';
import { defined } from '../nodepool/json.ts';
import { type QuestionFacts, questionLines } from '../print/question.ts';
import { errorWidth } from './errors.ts';
import type { Io } from './io.ts';

/** Whether questions can be answered: by a user at a terminal, or by a script. */
export function canAsk({ stdinIsTTY, stderrIsTTY, alwaysAsks = false }: Io): boolean {
  return alwaysAsks || (stdinIsTTY && stderrIsTTY);
}

/**
 * Asks on stderr and reads a line from stdin: only y or yes means yes. If stdin or stderr is no terminal, the answer is
 * yes, as for `kubectl delete`.
 * @param signal cancels the question; the answer is then no
 */
export async function confirm(io: Io, question: QuestionFacts, signal?: AbortSignal): Promise<boolean> {
  if (!canAsk(io)) return true;
  if (signal?.aborted) return false;
  // In terminal mode readline would handle Ctrl-C.
  const lines = createInterface({ input: io.stdin, terminal: false, ...defined({ signal }) });
  io.stderr.write(`${questionLines(question, errorWidth(io)).join('\n')} `);
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    // After Ctrl-D the cursor is still on the line of the question.
    io.err('');
    return false;
  } finally {
    lines.close();
  }
}

/** Like confirm(), but for questions that need an answer: without a terminal it throws `refusal`. */
export async function confirmOrRefuse(io: Io, question: QuestionFacts, refusal: () => Error): Promise<boolean> {
  if (!canAsk(io)) throw refusal();
  return confirm(io, question);
}
