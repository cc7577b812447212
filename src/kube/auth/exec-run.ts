/** One run of an exec plugin. Its stderr is the terminal; so is its stdin if it is interactive. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { LoginSurroundings } from './auth-info.ts';

export interface PluginRun {
  /** Absolute, or relative to the current folder. */
  file: string;
  args: string[];
  env: Record<string, string | undefined>;
  /** Whether it inherits stdin. */
  interactive: boolean;
}

/** `failed` follows "it" in errors. */
export type PluginEnd = { stdout: string } | { failed: string };

/** Limit of its stdout; an ExecCredential with a certificate chain has some 20,000 bytes. */
const MAX_BYTES = 1024 * 1024;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves when the plugin has exited, or at once when the signal is aborted. Never rejects. */
export async function runPlugin(
  { file, args, env, interactive }: PluginRun,
  { terminal, signal }: Pick<LoginSurroundings, 'terminal' | 'signal'>,
): Promise<PluginEnd> {
  const { stdin, stderr, onUse } = terminal;
  if (signal.aborted) return { failed: 'was not run any more' };
  const { promise, resolve } = Promise.withResolvers<PluginEnd>();
  let child: ChildProcessByStdio<null, Readable, null> | undefined;
  // Not waiting for stdout to close: the plugin's children may keep it open.
  const end = () => {
    child?.kill('SIGTERM');
    child?.stdout.destroy();
    resolve({ failed: 'was ended' });
  };
  // Before the spawn: a signal right after it would terminate this process alone.
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
    resolve({ failed: `printed more than ${MAX_BYTES} bytes` });
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

/** The plugin's stdout; truncated if the stream is destroyed. */
async function outputOf(stdout: Readable, onTooMuch: () => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BYTES) {
        onTooMuch();
        break;
      }
    }
  } catch {
    // The stream was destroyed.
  }
  return Buffer.concat(chunks);
}

/**
 * Terminates the plugin when this process exits or gets a signal: the plugin may ignore the terminal's SIGINT, and does
 * not get a `kill`. Returns a function that stops this.
 */
function endWithUs(end: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    release();
    // Without another listener, the signal terminates this process, as by default.
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
