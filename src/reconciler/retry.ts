/** Milliseconds before trying again after the nth conflict: the first at once, most are a kubelet's heartbeat. */
export function retryDelay(attempt: number): number {
  return attempt <= 1 ? 0 : Math.random() * Math.min(2 ** attempt, 200);
}
