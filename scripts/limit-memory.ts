/** Preloaded into test processes: a broken program ends its own, before it takes the machine's memory. */

/** The largest, that of all unit tests together, takes 0.7 GiB. */
const MAX_BYTES = 3 * 1024 ** 3;
const EVERY_MS = 200;

setInterval(() => {
  const bytes = process.memoryUsage.rss();
  if (bytes <= MAX_BYTES) return;
  process.stderr.write(
    `a test process grew to ${Math.round(bytes / 1024 ** 2)} MiB, and is ended: ${process.argv[1]}\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}, EVERY_MS).unref();
