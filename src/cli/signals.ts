/** Calls back on Ctrl-C and on SIGTERM, each time; returns what ends that. */
export function onStopSignal(callback: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, callback);
  return () => {
    for (const signal of signals) process.off(signal, callback);
  };
}
