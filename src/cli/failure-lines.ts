/** Writes that failed, as lines on stderr. Where one thing is wrong, thousands of nodes fail alike. */
import type { WriteFailure } from '../reconciler/failure.ts';
import { errorLine } from './error-line.ts';

/** Lines at most; the rest is counted. */
const MOST_LINES = 10;

/**
 * Nodes that failed alike share a line, and a next step is said once.
 * @param about what stands before each message: the pool that it is about
 * @param said next steps that were said before; those of these lines are added
 */
export function failureLines(failures: readonly WriteFailure[], about?: string, said = new Set<string>()): string[] {
  const alike = [...Map.groupBy(failures, inGeneral).entries()];
  const lines = alike.slice(0, MOST_LINES).map(([general, group]) => {
    const [first] = group;
    const message =
      group.length === 1 || first?.node === undefined
        ? (first?.message ?? general)
        : ofMany(general, `${group.length} nodes`, `first: ${first.node}`);
    const next = first?.next === undefined || said.has(first.next) ? undefined : first.next;
    if (next !== undefined) said.add(next);
    return errorLine(next === undefined ? { message } : { message, next }, about);
  });
  const rest = alike.slice(MOST_LINES).reduce((sum, [, group]) => sum + group.length, 0);
  return rest === 0 ? lines : [...lines, errorLine({ message: `and ${rest} more` }, about)];
}

const MANY = '{nodes}';

function ofMany(general: string, nodes: string, first: string): string {
  // What the server says of itself names no node.
  return general.includes(MANY) ? `${general.replace(MANY, nodes)} (${first})` : `${general} (${nodes}, ${first})`;
}

/** The message as it is of any node. */
function inGeneral({ message, node }: WriteFailure): string {
  return node === undefined
    ? message
    : message.replace(`Node "${node}"`, MANY).replace(`node ${node} was`, `${MANY} were`);
}
