/** Runs commands in this process: they do and say the same as in one of their own, in a tenth of the time. */
import { join } from 'node:path';
import { ROOT } from '../../scripts/root.ts';
import { main } from '../../src/main.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import type { RunOptions, RunResult } from '../cluster/run.ts';
import { testIo } from '../unit/cli/test-io.ts';

/** As cli() of the harness, for tables of many runs. Not for signals, terminals, TZ and --watch, which ends the process. */
export async function inProcess(
  { kubeconfig, dir }: Pick<ControlPlane, 'kubeconfig' | 'dir'>,
  args: readonly string[],
  { stdin = '', env }: Pick<RunOptions, 'stdin' | 'env'> = {},
): Promise<RunResult> {
  const facts = { PATH: process.env.PATH, HOME: join(dir, 'home'), KUBECONFIG: kubeconfig, NO_COLOR: '1', ...env };
  const io = testIo({ env: facts, stdin, now: () => new Date() });
  const code = await main([...args], io, ROOT);
  return { code, stdout: io.stdoutText(), stderr: io.stderrText() };
}
