/** One run of an exec plugin. What it says on stderr goes to the terminal as it comes, and what it asks is answered there. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { LoginSurroundings } from './auth-info.ts';

export interface PluginRun {
  /** Absolute, or relative to the current folder. */
  file: string;
  args: string[];
  env: Record<string, string | undefined>;
  /** Gives it our stdin. */
  interactive: boolean;
}

/** How it ended, in words that follow "it". */
export type PluginEnd = { stdout: string } | { failed: string };

/** Of what it prints; an ExecCredential with a chain of certificates has some 20,000 bytes. */
const MOST_BYTES = 1024 * 1024;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves when the plugin has ended; at once when the signal ends it. Never rejects. */
export async function runPlugin(
  { file, args, env, interactive }: PluginRun,
  { terminal, signal }: Pick<LoginSurroundings, 'terminal' | 'signal'>,
): Promise<PluginEnd> {
  const { stdin, stderr, onUse } = terminal;
  if (signal.aborted) return { failed: 'was not run any more' };
  const { promise, resolve } = Promise.withResolvers<PluginEnd>();
  let child: ChildProcessByStdio<null, Readable, null> | undefined;
  // Its children may keep stdout open: they are not waited for.
  const end = () => {
    child?.kill('SIGTERM');
    child?.stdout.destroy();
    resolve({ failed: 'was ended' });
  };
  // Before it starts: a signal right after that would end us alone.
  const release = endWithUs(end);
  try {
    const stdio = [interactive ? stdin : 'ignore', 'pipe', stderr] as const;
    child = spawn(file, args, { env, stdio: [...stdio] }) as ChildProcessByStdio<null, Readable, null>;
  } catch (error) {
    release();
    return { failed: `cannot be started: ${(error as Error).message}` };
  }
  signal.addEventListener('abort', end, { once: true });
  onUse?.(true);
  const output = outputOf(child.stdout, () => {
    resolve({ failed: `printed more than ${MOST_BYTES} bytes` });
    end();
  });
  child.on('error', error => resolve({ failed: `cannot be started: ${error.message}` }));
  child.on('close', async (code, killedBy) => {
    const stdout = (await output).toString();
    if (killedBy !== null) resolve({ failed: `was ended by ${killedBy}` });
    else resolve(code === 0 ? { stdout } : { failed: `failed with exit code ${code}` });
  });
  try {
    return await promise;
  } finally {
    onUse?.(false);
    signal.removeEventListener('abort', end);
    release();
  }
}

/** All that it printed; what there is when the stream is ended. */
async function outputOf(stdout: Readable, onTooMuch: () => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MOST_BYTES) {
        onTooMuch();
        break;
      }
    }
  } catch {
    // It was ended.
  }
  return Buffer.concat(chunks);
}

/**
 * A plugin does not outlive us. Ctrl-C reaches it from the terminal as well, but it may not heed that, and `kill` reaches
 * us alone. Returns what ends that care.
 */
function endWithUs(end: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    release();
    // Nobody else heeds the signal: it ends us, as it would have.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.off('exit', end);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('exit', end);
  return release;
}
