/**
 * What is said and done while a login lasts: a plugin may wait for a person, or hang. After a while that is told, and no
 * second one is started while it runs. With a limit, those who wait get an error then; the login itself goes on, and who
 * asks next waits for the same one.
 *
 * Not guaranteed: that a plugin that hangs is ended. client-go has no limit at all.
 */
import type { Clock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Credentials } from './credentials.ts';
import type { UserEntry } from './kubeconfig-file.ts';
import { within } from './within.ts';

/** Most plugins answer within a second or two. */
const TOLD_AFTER_MS = 10_000;
const TOLD_EVERY_MS = 60_000;

export interface LoginOptions {
  user: UserEntry;
  /** Longest wait, in milliseconds; the first login of all has none, since a person may be at it. */
  limitMs: number | undefined;
  clock: Clock;
  /** Gets every line with its level. */
  log: (level: number, text: () => string) => void;
}

/** What loads the credentials, to be called in place of `load`; their renewals are watched alike. */
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
    const quiet = tell();
    try {
      const credentials = await start();
      isFirst = false;
      const { renewal } = credentials;
      if (renewal === undefined) return credentials;
      return { ...credentials, renewal: { ...renewal, load: options => join(() => renewal.load(options)) } };
    } finally {
      quiet();
    }
  }

  /** Returns what ends it. */
  function tell(): () => void {
    const start = clock.now();
    const say = () => {
      const seconds = Math.round((clock.now() - start) / 1000);
      log(0, () => `waiting for ${who} to log in user "${user.name}", for ${seconds} s so far`);
      cancel = clock.after(TOLD_EVERY_MS, say);
    };
    let cancel = clock.after(TOLD_AFTER_MS, say);
    return () => cancel();
  }

  function late(ms: number): NodepoolError {
    const problem = `${who} has not logged in user "${user.name}" within ${ms / 1000} s`;
    const next = 'log in with it, or end it: while it runs no other is started';
    return new NodepoolError('cluster', problem, next, { isGeneral: true });
  }

  return () => join(load);
}
