/**
 * Milliseconds before the retry after the nth conflict: 0 after the first, which is mostly a kubelet's heartbeat, then random,
 * up to 4 ms, 8 ms and so on, at most 200 ms, so that two writers do not stay in step.
 * @param random from 0 up to, not including, 1
 */
export function conflictDelay(attempt: number, random: number): number {
  return attempt <= 1 ? 0 : random * Math.min(2 ** attempt, 200);
}
