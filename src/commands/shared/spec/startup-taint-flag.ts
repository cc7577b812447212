/**
 * `--startup-taint`, each a taint as in `--taint`, and maybe the condition that lifts it and when it is given again:
 * `key[=value]:Effect,until=Type,again=Boot`. A list has these right after their taint, which always has a colon:
 * `a:NoSchedule,until=A,b:NoExecute`.
 */
import { isDeepStrictEqual } from 'node:util';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { againProblem, conditionProblem, taintId } from '../../../nodepool/spec/taints.ts';
import type { StartupTaint } from '../../../nodepool/types.ts';
import { parseTaintEdits, parseTaints, type TaintRemoval } from './flag-syntax.ts';

interface StartupTaintEdits {
  set: StartupTaint[];
  remove: TaintRemoval[];
}

const FLAG = '--startup-taint';
const OPTION = /^(until|again)=([^:]*)$/;
const FORM =
  'write it as key[=value]:Effect,until=Condition,again=Boot, with the condition of the node that lifts the taint';

/** Parses all `--startup-taint` of a command line. */
export function parseStartupTaints(texts: readonly string[]): StartupTaint[] {
  return unique(
    texts.flatMap(text => partsOf(text).flatMap(part => startupTaints(text, part, parseTaints([part.taint], FLAG)))),
  );
}

/** Parses the flags of an edit: as parseTaintEdits(), where what is set may have a condition. */
export function parseStartupTaintEdits(texts: readonly string[]): StartupTaintEdits {
  const parts = texts.flatMap(text => partsOf(text).map(part => ({ text, part })));
  const { remove } = parseTaintEdits(
    parts.map(({ part }) => part.taint),
    FLAG,
  );
  const set = parts.flatMap(({ text, part }) => startupTaints(text, part, parseTaintEdits([part.taint], FLAG).set));
  return { set: unique(set), remove };
}

interface Part {
  taint: string;
  until?: string;
  again?: string;
}

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  for (const word of text.split(',')) {
    const last = parts.at(-1);
    // A taint of the key "until" has a colon.
    const [, option, value] = OPTION.exec(word) ?? [];
    if (option !== 'until' && option !== 'again') parts.push({ taint: word });
    else if (last === undefined) throw refusal(text, `there is no taint before "${word}"`);
    else if (last[option] !== undefined) throw refusal(text, `${last.taint} has ${option}= twice`);
    else last[option] = value ?? '';
  }
  return parts;
}

function startupTaints(text: string, { taint, until, again }: Part, parsed: readonly StartupTaint[]): StartupTaint[] {
  if (until === undefined && again === undefined) return [...parsed];
  if (parsed.length === 0)
    throw refusal(text, `${taint} is removed, and takes no ${until === undefined ? 'again=' : 'condition'}`);
  const problem = until === undefined ? undefined : conditionProblem(until);
  if (problem !== undefined) throw refusal(text, problem);
  if (again !== undefined && again !== 'Boot') throw refusal(text, againProblem(again));
  return parsed.map(one => ({
    ...one,
    ...(until === undefined ? {} : { until: { nodeCondition: until } }),
    ...(again === undefined ? {} : { again }),
  }));
}

/** Throws where a key and effect are given twice and differ. */
function unique(taints: readonly StartupTaint[]): StartupTaint[] {
  const byId = new Map<string, StartupTaint>();
  for (const taint of taints) {
    const id = taintId(taint);
    const before = byId.get(id);
    if (before !== undefined && !isDeepStrictEqual(before, taint)) {
      throw new NodepoolError('usage', `${FLAG}: ${id} is given twice and differs`, 'give each key and effect once');
    }
    byId.set(id, taint);
  }
  return [...byId.values()];
}

function refusal(text: string, problem: string): NodepoolError {
  return new NodepoolError('usage', `${FLAG} ${JSON.stringify(text)}: ${problem}`, FORM);
}
