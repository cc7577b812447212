/** Finds cycles of imports. Biome's noImportCycles does too, and takes a fifth of `npm run check` for it. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { importsOf } from './imports-of.ts';

/**
 * One line for each cycle of static imports, of types too, among the files; paths are relative to the root, with
 * forward slashes.
 */
export function importCycles(root: string, files: readonly string[]): string[] {
  const known = new Set(files);
  const done = new Set<string>();
  const path: string[] = [];
  const cycles: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start !== -1) cycles.push([...path.slice(start), file].join(' -> '));
    if (start !== -1 || done.has(file)) return;
    path.push(file);
    for (const { specifier, kind } of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const target = posix.join(posix.dirname(file), specifier);
      if (specifier.startsWith('.') && kind !== 'dynamic' && known.has(target)) visit(target);
    }
    path.pop();
    done.add(file);
  };
  files.forEach(visit);
  return cycles.map(cycle => `imports in a cycle: ${cycle}`);
}
