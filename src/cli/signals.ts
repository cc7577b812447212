/** Between two looks whether all that was said has been read. */
const LEAVE_MS = 1_000;

/** Calls back on Ctrl-C and on SIGTERM, each time; returns what ends that. */
export function onStopSignal(callback: () => void): () => void {
  return onSignals(['SIGINT', 'SIGTERM'], callback);
}

/** The same where the terminal goes away, too. */
export function onEndingSignal(callback: (signal: NodeJS.Signals) => void): () => void {
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], callback);
}

function onSignals(signals: readonly NodeJS.Signals[], callback: (signal: NodeJS.Signals) => void): () => void {
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
