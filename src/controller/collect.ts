/**
 * Runs the garbage collector after large reads and during rollouts, where the runtime allows it: the executable does
 * (bin/executable.ts), Node only with --expose-gc. JavaScriptCore lets garbage grow with the heap and hardly counts buffers
 * as heap, so a list of 5,000 nodes would leave 45 MB behind.
 */

/** A smaller value costs time with 5,000 objects, a larger one memory. */
const MIN_BYTES = 14 * 1024 ** 2;
/** Garbage that a reconcile leaves for each member while a rollout is in progress, measured on Node. */
const BYTES_A_MEMBER = 8 * 1024;
/** Garbage that a request leaves, beside its bodies: 50,000 writes, whose answers are short, left 400 MB. */
const BYTES_A_REQUEST = 8 * 1024;
/** Garbage that a pod leaves whose place is judged. */
const BYTES_A_POD = 16 * 1024;
/** With a larger heap, collect less often: a collection takes time in proportion to the heap. */
const SHARE_OF_HEAP = 0.5;

let since = 0;
let most = MIN_BYTES;

/** Does nothing where the runtime does not expose the garbage collector. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) return;
  globalThis.gc();
  since = 0;
  most = Math.max(MIN_BYTES, process.memoryUsage().heapUsed * SHARE_OF_HEAP);
}

/** Counts bytes of a response that are kept until all of it is there. */
export function countKept(bytes: number): void {
  count(bytes);
}

export function countRequest(): void {
  count(BYTES_A_REQUEST);
}

/** Counts bytes of a watch. Decoded as they come, they leave less, and a collection delays the write that follows. */
export function countWatched(bytes: number): void {
  count(bytes / 4);
}

/** @param bytes of garbage, as bytes of a response that is kept */
function count(bytes: number): void {
  since += bytes;
  if (since >= most) collectGarbage();
}

/** Counts a pod that was read to be judged: of 50,000 that are kept, garbage would double the memory. */
export function countPod(): void {
  count(BYTES_A_POD);
}

/** Counts a reconcile of a rollout in progress: step by step it looks at all members, and reads few bytes. */
export function countRollout(members: number): void {
  count(members * BYTES_A_MEMBER);
}
