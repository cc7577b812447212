/**
 * Supervises logins: a plugin may wait for a person, or hang. A login that takes long is logged, and callers share it.
 * With a limit, waiting callers get an error; the login continues, and the next caller joins it.
 *
 * Not guaranteed: that a hanging plugin is terminated. client-go has no limit at all.
 */
import type { Clock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { within } from '../within.ts';
import type { Credentials } from './credentials.ts';
import type { UserEntry } from './kubeconfig-file.ts';

/** Most plugins take a second or two. */
const LOG_AFTER_MS = 10_000;
const LOG_EVERY_MS = 60_000;

export interface LoginOptions {
  user: UserEntry;
  /** Limit in milliseconds of every login but the first, which may be interactive. */
  limitMs: number | undefined;
  clock: Clock;
  log: (level: number, text: () => string) => void;
}

/** Wraps `load`, and the renewals of what it loads. */
export function watchedLogin(
  load: () => Promise<Credentials>,
  { user, limitMs, clock, log }: LoginOptions,
): () => Promise<Credentials> {
  const who = typeof user.exec?.command === 'string' ? `the plugin ${user.exec.command}` : 'the auth-provider';
  let running: Promise<Credentials> | undefined;
  let isFirst = true;

  function join(start: () => Promise<Credentials>): Promise<Credentials> {
    running ??= run(start).finally(() => {
      running = undefined;
    });
    return isFirst || limitMs === undefined ? running : within(clock, limitMs, running, () => late(limitMs));
  }

  async function run(start: () => Promise<Credentials>): Promise<Credentials> {
    const stop = logWait();
    try {
      const credentials = await start();
      isFirst = false;
      const { renewal } = credentials;
      if (renewal === undefined) return credentials;
      return { ...credentials, renewal: { ...renewal, load: options => join(() => renewal.load(options)) } };
    } finally {
      stop();
    }
  }

  /** Logs the wait until the returned function is called. */
  function logWait(): () => void {
    const start = clock.now();
    const logLine = () => {
      const seconds = Math.round((clock.now() - start) / 1000);
      log(0, () => `waiting for ${who} to log in user "${user.name}", for ${seconds} s so far`);
      cancel = clock.after(LOG_EVERY_MS, logLine);
    };
    let cancel = clock.after(LOG_AFTER_MS, logLine);
    return () => cancel();
  }

  function late(ms: number): NodepoolError {
    const problem = `${who} has not logged in user "${user.name}" within ${ms / 1000} s`;
    const next = 'log in with it, or end it: while it runs no other is started';
    return new NodepoolError('cluster', problem, next, { isGeneral: true });
  }

  return () => join(load);
}
