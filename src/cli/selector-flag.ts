/** `--node-selector`, in the syntax of `kubectl get -l`: `a=b`, `a in (b,c)`, `!a`, `a>4`; and `a-` in an edit. */
import { NodepoolError } from '../nodepool/errors.ts';
import { setOwn } from '../nodepool/json.ts';
import type { Requirement } from '../nodepool/label-query.ts';
import { parseTerms, type Term } from '../nodepool/label-selector.ts';

export interface SelectorFlag {
  labels: Record<string, string>;
  expressions: Requirement[];
  remove: string[];
}

const FORM = "write it like key=value, 'key in (a,b)' or '!key', as for kubectl get -l";

/** Parses all `--node-selector` of a command line. @param mayRemove `key-` removes what the pool requires of a label */
export function parseSelectorFlag(texts: readonly string[], mayRemove: boolean): SelectorFlag {
  const found: SelectorFlag = { labels: {}, expressions: [], remove: [] };
  for (const text of texts) {
    for (const term of termsOf(text, mayRemove)) add(term, text, found);
  }
  const { labels, expressions, remove } = found;
  const twice = remove.find(key => Object.hasOwn(labels, key) || expressions.some(each => each.key === key));
  if (twice !== undefined) throw refusal(`${twice}-`, `${twice} is both set and removed`, 'give one of the two');
  return { ...found, remove: [...new Set(remove)] };
}

function termsOf(text: string, mayRemove: boolean): Term[] {
  // Mostly the variable of a script that is not set.
  if (text.trim() === '') throw refusal(text, 'the value of the flag is empty', FORM);
  try {
    return parseTerms(text, mayRemove);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    throw refusal(text, error.message.replace(/^cannot read the selector: /, ''), FORM);
  }
}

function add({ key, operator, values }: Term, text: string, { labels, expressions, remove }: SelectorFlag): void {
  if (operator === 'Remove') remove.push(key);
  else if (operator !== 'Equals') expressions.push({ key, operator, ...(values.length > 0 ? { values } : {}) });
  else if (Object.hasOwn(labels, key) && labels[key] !== values[0]) {
    throw refusal(text, `${key} is given twice with different values`, "write 'key in (a,b)' for one of several");
  } else setOwn(labels, key, values[0] ?? '');
}

function refusal(text: string, problem: string, next: string): NodepoolError {
  return new NodepoolError('usage', `--node-selector ${JSON.stringify(text)}: ${problem}`, next);
}
