/** The processes of a test node. All of its programs have its folder in their command lines. */
import { globSync, readFileSync } from 'node:fs';

/** Paths of their command lines; without that of this process. */
export function processesOf(folder: string): string[] {
  return globSync('/proc/[0-9]*/cmdline').filter(
    path => path !== `/proc/${process.pid}/cmdline` && commandLine(path).includes(folder),
  );
}

function commandLine(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended meanwhile.
    return '';
  }
}
