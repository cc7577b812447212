/** What a run of mutants says of each file. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';

export interface Survivor {
  /** From 1. */
  line: number;
  mutator: string;
  /** No test reaches it. */
  isUncovered: boolean;
  /** The mutated code, from the start of its first line to the end of its last, with single spaces. */
  code: string;
}

export interface FileScore {
  /** From the project's folder. */
  file: string;
  /** Tests failed, or ran out of time. */
  killed: number;
  survivors: Survivor[];
}

/** Per cent, rounded down to one decimal: 84.99 is not 85. */
export function percent({ killed, survivors }: Pick<FileScore, 'killed' | 'survivors'>): number {
  const all = killed + survivors.length;
  return all === 0 ? 100 : Math.floor((killed / all) * 1000) / 10;
}

/** Mutants that do not run at all (`CompileError`, `RuntimeError`, `Ignored`) count on neither side. */
export function scoreFiles(mutants: readonly MutantResult[], root: string): FileScore[] {
  const byFile = Map.groupBy(mutants, ({ fileName }) => fileName);
  const scores = [...byFile].map(([fileName, own]) => {
    const lines = readFileSync(fileName, 'utf8').split('\n');
    const alive = own.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
    return {
      file: relative(root, fileName),
      killed: own.filter(({ status }) => status === 'Killed' || status === 'Timeout').length,
      survivors: alive.map(mutant => survivor(mutant, lines)).toSorted((a, b) => a.line - b.line),
    };
  });
  return scores.toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

function survivor({ location: { start, end }, mutatorName, replacement, status }: MutantResult, lines: string[]) {
  // Lines and columns count from 1.
  const before = lines[start.line - 1]?.slice(0, start.column - 1) ?? '';
  const after = lines[end.line - 1]?.slice(end.column - 1) ?? '';
  return {
    line: start.line,
    mutator: mutatorName,
    isUncovered: status === 'NoCoverage',
    code: `${before}${replacement}${after}`.replaceAll(/\s+/g, ' ').trim(),
  };
}
