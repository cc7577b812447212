/**
 * What was read and is done with is given back early, where the runtime lets a program say so: the executable does
 * (bin/executable.ts), Node only with --expose-gc. JavaScriptCore lets garbage grow with the heap, and little of what
 * buffers hold counts as heap: a list of nodes would leave all its 45 MB behind.
 */

/** Three pages of nodes, or 1,500 events of a watch: less costs time at 5,000 nodes, more costs memory. */
const LEAST_BYTES = 14 * 1024 ** 2;
/** More where more is alive: a collection takes as long as that is much, and a long list would pay it ever again. */
const SHARE_OF_HEAP = 0.5;

let since = 0;
let most = LEAST_BYTES;

/** Gives back what was read; nothing where the runtime does not let a program say so. */
export function collectGarbage(): void {
  globalThis.gc?.();
}

/** Call with the bytes of all that came over a connection. */
export function countRead(bytes: number): void {
  since += bytes;
  if (globalThis.gc === undefined || since < most) return;
  collectGarbage();
  since = 0;
  most = Math.max(LEAST_BYTES, process.memoryUsage().heapUsed * SHARE_OF_HEAP);
}
