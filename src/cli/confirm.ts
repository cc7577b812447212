import { createInterface } from 'node:readline';
import { defined } from '../nodepool/json.ts';
import { type QuestionFacts, questionLines } from '../print/question.ts';
import { errorWidth } from './errors.ts';
import type { Io } from './io.ts';

/** Whether a user is at the terminal, or a script answers. */
export function canAsk({ stdinIsTTY, stderrIsTTY, alwaysAsks = false }: Io): boolean {
  return alwaysAsks || (stdinIsTTY && stderrIsTTY);
}

/**
 * Asks on stderr and reads a line from stdin: only y or yes is a yes. Without a terminal on both the answer is yes, as for
 * `kubectl delete`.
 * @param signal withdraws the question, which is a no
 */
export async function confirm(io: Io, question: QuestionFacts, signal?: AbortSignal): Promise<boolean> {
  if (!canAsk(io)) return true;
  if (signal?.aborted) return false;
  // In its terminal mode readline would handle Ctrl-C.
  const lines = createInterface({ input: io.stdin, terminal: false, ...defined({ signal }) });
  io.stderr.write(`${questionLines(question, errorWidth(io)).join('\n')} `);
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    // After Ctrl-D the cursor is still behind the question.
    io.err('');
    return false;
  } finally {
    lines.close();
  }
}

/** As confirm(), for what needs an answer: without a terminal it throws `refusal`. */
export async function confirmOrRefuse(io: Io, question: QuestionFacts, refusal: () => Error): Promise<boolean> {
  if (!canAsk(io)) throw refusal();
  return confirm(io, question);
}
