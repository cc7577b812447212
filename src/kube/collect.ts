/**
 * What was read and is done with is given back early, where the runtime lets a program say so: the executable does
 * (bin/executable.ts), Node only with --expose-gc. JavaScriptCore lets garbage grow with the heap, and little of what
 * buffers hold counts as heap: a list of nodes would leave all its 45 MB behind.
 */

/** Two pages of nodes, or 900 events of a watch. */
const EVERY_BYTES = 8 * 1024 ** 2;
let since = 0;

/** To be told of all that came over a connection, in bytes. */
export function countRead(bytes: number): void {
  since += bytes;
  if (since < EVERY_BYTES) return;
  since = 0;
  globalThis.gc?.();
}
