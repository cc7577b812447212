/** `rollout status`: prints each state until the rollout is done. */
import { parseDuration } from '../../cli/duration.ts';
import { showError, showWarning } from '../../cli/error-line.ts';
import { EXIT } from '../../cli/report-error.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import type { RolloutDeps } from './deps.ts';
import { assertLatest } from './rollout-history.ts';

/** A controller that runs takes a new spec within a second or two. */
const QUIET_MS = 10_000;

/** Returns the exit code. @param flags `revision`: that which is expected; 0: any */
export async function status(
  name: string,
  flags: { watch: boolean; timeout: string; revision: number },
  { io, connection: { cluster } }: RolloutDeps,
): Promise<number> {
  const timeoutMs = parseDuration(flags.timeout, '--timeout');
  const { followRollout } = await import('./follow-rollout.ts');
  const { systemClock } = await import('../../controller/clock.ts');
  if (flags.revision > 0) await assertLatest(name, flags.revision, { cluster });
  // Without a controller it would wait for ever, and say nothing.
  const hint = {
    message: `no news for ${QUIET_MS / 1000} s`,
    next: 'if no controller runs, `kubectl nodepool reconcile --watch`, which does step after step',
  };
  let cancelHint = () => {};
  const state = await followRollout(
    name,
    { timeoutMs, watch: flags.watch },
    {
      ...cluster,
      clock: systemClock,
      random: Math.random,
      log: (level, message) => {
        if (level === 'warning') showWarning(io, message);
        if (level === 'error') showError(io, { message });
      },
      onState: ({ kind, text }) => {
        if (kind !== 'failed') io.out(sanitizeLine(text));
        cancelHint();
        if (kind === 'waiting' && flags.watch) cancelHint = systemClock.after(QUIET_MS, () => showWarning(io, hint));
      },
    },
  ).finally(() => cancelHint());
  if (state.kind !== 'failed') return EXIT.done;
  showError(io, { message: state.text });
  return EXIT.error;
}
