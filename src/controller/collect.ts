/**
 * Runs the garbage collector after large reads and during rollouts, if the runtime exposes it: the executable does
 * (bin/executable.ts), Node only with --expose-gc. JavaScriptCore lets garbage grow with the heap and hardly counts
 * buffers as heap: without this, a list of 5,000 nodes leaves 45 MB of garbage.
 */

/** A smaller value costs time with 5,000 objects, a larger one memory. */
const MIN_BYTES = 14 * 1024 ** 2;
/** Garbage for each member that a reconcile creates while a rollout is in progress, measured on Node. */
const BYTES_A_MEMBER = 8 * 1024;
/** Garbage for each request, in addition to its bodies: 50,000 writes with short responses left 400 MB. */
const BYTES_A_REQUEST = 8 * 1024;
/** Garbage for each pod whose scheduling is evaluated. */
const BYTES_A_POD = 16 * 1024;
/** Share of the heap: a collection takes time in proportion to the heap, so collect less often if it is large. */
const SHARE_OF_HEAP = 0.5;

let since = 0;
let most = MIN_BYTES;

/** Does nothing if the runtime does not expose the garbage collector. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) return;
  globalThis.gc();
  since = 0;
  most = Math.max(MIN_BYTES, process.memoryUsage().heapUsed * SHARE_OF_HEAP);
}

/** Counts bytes of a response that is kept until it is complete. */
export function countKept(bytes: number): void {
  count(bytes);
}

export function countRequest(): void {
  count(BYTES_A_REQUEST);
}

/** Counts bytes of a watch. They leave less garbage, as each event is decoded when it arrives. */
export function countWatched(bytes: number): void {
  count(bytes / 4);
}

/** @param bytes of garbage, as many as a response of that size leaves */
function count(bytes: number): void {
  since += bytes;
  if (since >= most) collectGarbage();
}

/** Counts a pod that was read for evaluation: with 50,000 of them, garbage would double the memory. */
export function countPod(): void {
  count(BYTES_A_POD);
}

/** Counts a reconcile of a rollout in progress: each step checks all members but reads few bytes. */
export function countRollout(members: number): void {
  count(members * BYTES_A_MEMBER);
}
