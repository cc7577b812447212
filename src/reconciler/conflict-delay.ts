/**
 * Milliseconds before trying again after the nth conflict: the first at once, as most are a kubelet's heartbeat, then at
 * random up to 4 ms, 8 ms and so on, at most 200 ms, so that two writers who meet do not meet again.
 * @param random from 0 up to, not including, 1
 */
export function conflictDelay(attempt: number, random: number): number {
  return attempt <= 1 ? 0 : random * Math.min(2 ** attempt, 200);
}
