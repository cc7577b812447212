/** Runs a program and collects its output. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TIMEOUT_MS = 60_000;

export interface RunOptions {
  stdin?: string;
  /** run: the whole environment; cli and kubectl: added to theirs, undefined takes a variable out. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Default 60 s; then it is killed, and `code` is null. */
  timeoutMs?: number;
}

export interface RunResult {
  /** Null when a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, in the repository's folder and this process's environment by default. Rejects only if it cannot start. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: options.env ?? process.env,
      cwd: options.cwd ?? ROOT,
      timeout: options.timeoutMs ?? TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text;
    });
    // A program may end without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
    child.on('error', reject);
    child.on('close', code => resolve({ code, stdout, stderr }));
  });
}
