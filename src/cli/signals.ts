/** For an error to be written. */
const REPORT_MS = 1_000;

/** Calls back on Ctrl-C and on SIGTERM, each time; returns what ends that. */
export function onStopSignal(callback: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, callback);
  return () => {
    for (const signal of signals) process.off(signal, callback);
  };
}

/** Ends the process in a while if something that nothing can cut off, a login that hangs above all, still keeps it. */
export function leaveSoon(): void {
  setTimeout(() => process.exit(), REPORT_MS).unref();
}
