/** `wait`: says of each pool that its condition is met, and why those that are left are not. */
import { systemClock } from '../controller/clock.ts';
import { type WaitOptions, waitForPools } from '../operations/wait.ts';
import { sanitizeLine } from '../render/sanitize.ts';
import { errorLine, warningLine } from './error-line.ts';
import type { Connection } from './factory.ts';
import type { Io } from './io.ts';

/** Returns whether all are met. */
export async function showWait(options: WaitOptions, io: Io, { pools, follow }: Connection): Promise<boolean> {
  const errors = await waitForPools(options, {
    pools,
    follow,
    clock: systemClock,
    random: Math.random,
    log: (level, message) => {
      if (level === 'warning') io.err(warningLine(message));
      if (level === 'error') io.err(errorLine({ message }));
    },
    onMet: name => io.out(`nodepool.nodes.lailin.xyz/${sanitizeLine(name)} condition met`),
  });
  for (const error of errors) io.err(errorLine(error));
  return errors.length === 0;
}
