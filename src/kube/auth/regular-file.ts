/** Files that somebody else may have named or replaced: opened without waiting for a FIFO, and regular ones alone. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';

/** Of the file that is open, whatever its path leads to by now. */
export interface OpenFile {
  descriptor: number;
  stats: BigIntStats;
}

/**
 * Throws what node:fs gives, and Error that says what the file is in place of a regular one.
 * @param flags of node:fs, beside those that keep it from waiting
 */
export function openRegularFile(file: string, flags: number = constants.O_RDONLY): OpenFile {
  // Without O_NONBLOCK a FIFO that nobody writes to is waited for without end. Windows has no such flag.
  const descriptor = openSync(file, flags | (constants.O_NONBLOCK ?? 0));
  const stats = fstatSync(descriptor, { bigint: true });
  if (stats.isFile()) return { descriptor, stats };
  closeSync(descriptor);
  throw new Error(`it is ${kindOf(stats)}, and only regular files are read`);
}

function kindOf(stats: BigIntStats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'a special file';
}
