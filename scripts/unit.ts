import { join } from 'node:path';
import { ROOT } from './root.ts';

/** Arguments of node for every test process. */
export const MEMORY_LIMIT = ['--import', join(ROOT, 'scripts/limit-memory.ts')];

/** Most files start slower than they run, so they share a process, unless they start processes or handle signals. */
export function sharesProcess(file: string): boolean {
  return /^test\/unit\/(?!cli\/signals\.|commands\/(drain\/show-drain|edit\/edit-text)\.|main\.)/.test(file);
}
