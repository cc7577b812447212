/** Computes the mutation score of each file. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';

interface Survivor {
  /** 1-based. */
  line: number;
  mutator: string;
  /** Not covered by any test. */
  isUncovered: boolean;
  /** The mutated code, from the start of its first line to the end of its last, with single spaces. */
  code: string;
}

export interface FileScore {
  /** Relative to the project's root. */
  file: string;
  /** Mutants that failed a test or timed out. */
  killed: number;
  survivors: Survivor[];
}

/** In percent, rounded down to one decimal: 84.99 does not count as 85. */
export function percent({ killed, survivors }: Pick<FileScore, 'killed' | 'survivors'>): number {
  const all = killed + survivors.length;
  return all === 0 ? 100 : Math.floor((killed / all) * 1000) / 10;
}

/** Mutants that cannot run (`CompileError`, `RuntimeError`, `Ignored`) do not count. */
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
  // Lines and columns are 1-based.
  const before = lines[start.line - 1]?.slice(0, start.column - 1) ?? '';
  const after = lines[end.line - 1]?.slice(end.column - 1) ?? '';
  return {
    line: start.line,
    mutator: mutatorName,
    isUncovered: status === 'NoCoverage',
    code: `${before}${replacement}${after}`.replaceAll(/\s+/g, ' ').trim(),
  };
}
