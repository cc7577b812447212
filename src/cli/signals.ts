/** Between two looks whether all that was said has been read. */
const LEAVE_MS = 1_000;

/** Calls back on Ctrl-C and on SIGTERM, each time; returns what ends that. */
export function onStopSignal(callback: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, callback);
  return () => {
    for (const signal of signals) process.off(signal, callback);
  };
}

/**
 * Ends the process in a while if something that nothing can cut off, a login that hangs above all, still keeps it. What
 * waits for a slow reader of stdout or stderr is waited for.
 */
export function leaveSoon(): void {
  const look = () => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  };
  setInterval(look, LEAVE_MS).unref();
}
