import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const MAX_OUTPUT = 64 * 1024 * 1024;
const executed = promisify(execFile);

/**
 * Runs a program and returns its stdout. Throws with its stderr when it fails or cannot be started.
 * @param options timeout: in milliseconds, then it is ended; none by default
 */
export async function mustRun(
  program: string,
  args: readonly string[],
  options: { cwd: string; timeout?: number; env?: Record<string, string> },
): Promise<string> {
  const { stdout } = await executed(program, args, { ...options, maxBuffer: MAX_OUTPUT });
  return stdout;
}
