/** Reports the progress and duration of a long step on a stream. */
export interface ProgressStream {
  write(text: string): unknown;
  isTTY?: boolean;
}

const TERMINAL_TICK_MS = 1000;
const LOG_TICK_MS = 30_000;

/** Runs `work` under a line of progress: rewritten every second on a terminal, repeated every 30 s elsewhere. */
export async function step<T>(stream: ProgressStream, text: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const seconds = () => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  const show = () => stream.write(stream.isTTY ? `\r\u001b[2K${text} … ${seconds()}` : `${text} … ${seconds()}\n`);
  const end = (outcome: string) =>
    stream.write(`${stream.isTTY ? '\r\u001b[2K' : ''}${text}: ${outcome}, ${seconds()}\n`);
  stream.write(stream.isTTY ? `${text} …` : `${text} …\n`);
  const ticker = setInterval(show, stream.isTTY ? TERMINAL_TICK_MS : LOG_TICK_MS);
  try {
    const result = await work();
    end('done');
    return result;
  } catch (error) {
    end('failed');
    throw error;
  } finally {
    clearInterval(ticker);
  }
}
