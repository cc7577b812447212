/** Opens untrusted paths: regular files alone, without blocking on a FIFO. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';

/**
 * Returns the stats of the open file: its path may be replaced at any time. Throws an error of node:fs, or Error that
 * names the kind of the file.
 * @param flags of open(2), to which O_NONBLOCK is added
 */
export function openRegularFile(
  file: string,
  flags: number = constants.O_RDONLY,
): { descriptor: number; stats: BigIntStats } {
  // Without O_NONBLOCK, opening a FIFO blocks until there is a writer. Windows has no such flag.
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
