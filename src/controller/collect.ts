/**
 * Runs the garbage collector after large reads and during rollouts, where the runtime allows it: the executable does
 * (bin/executable.ts), Node only with --expose-gc. JavaScriptCore lets garbage grow with the heap and hardly counts buffers
 * as heap, so a list of 5,000 nodes would leave 45 MB behind.
 */

/** 1,500 watch events. A smaller value costs time with 5,000 objects, a larger one memory. */
const MIN_BYTES = 14 * 1024 ** 2;
/** Garbage that a reconcile leaves for each member while a rollout is in progress, measured on Node. */
const BYTES_A_MEMBER = 8 * 1024;
/** Garbage that a pod leaves whose place is judged, beside the bytes of its list. */
const BYTES_A_POD = 16 * 1024;
/** With a larger heap, collect less often: a collection takes time in proportion to the heap. */
const SHARE_OF_HEAP = 0.5;

let since = 0;
let most = MIN_BYTES;

/** Does nothing where the runtime does not expose the garbage collector. */
export function collectGarbage(): void {
  globalThis.gc?.();
}

/** Counts the bytes received on a connection. */
export function countRead(bytes: number): void {
  since += bytes;
  if (globalThis.gc === undefined || since < most) return;
  collectGarbage();
  since = 0;
  most = Math.max(MIN_BYTES, process.memoryUsage().heapUsed * SHARE_OF_HEAP);
}

/** Counts a pod that was read to be judged: of 50,000 that are kept, garbage would double the memory. */
export function countPod(): void {
  countRead(BYTES_A_POD);
}

/** Counts a reconcile of a rollout in progress: step by step it looks at all members, and reads few bytes. */
export function countRollout(members: number): void {
  countRead(members * BYTES_A_MEMBER);
}
