/** Long logins, on a fake clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Credentials,
  type CredentialsRenewal,
  type LoginOptions,
  watchedLogin,
} from '../../../../src/kube/auth/credentials.ts';
import { FakeClock, flushPromises } from '../../controller/fake-clock.ts';

const LIMIT_MS = 60_000;
const LATE = {
  message: 'the plugin /bin/login has not logged in user "u" within 60 s',
  next: 'finish the login, or stop the plugin: no other plugin starts while it runs',
};

/** Logins that end when the test says, and the log. */
function logins(options: Partial<LoginOptions> = {}) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const runs: PromiseWithResolvers<Credentials>[] = [];
  const start = () => {
    const run = Promise.withResolvers<Credentials>();
    runs.push(run);
    return run.promise;
  };
  const login = watchedLogin(start, {
    user: { name: 'u', exec: { command: '/bin/login' } },
    limitMs: LIMIT_MS,
    clock,
    log: (level, text) => lines.push(`${level} ${text()}`),
    ...options,
  });
  const renewal: CredentialsRenewal = { afterMs: 1, load: start };
  const credentials: Credentials = { secureContext: undefined, headers: {}, certificateEnds: () => undefined, renewal };
  return { login, clock, lines, runs, end: () => runs.at(-1)?.resolve(credentials) };
}

/** After the first login, with its renewal. */
async function loggedIn(options: Partial<LoginOptions> = {}) {
  const made = logins(options);
  const first = made.login();
  made.end();
  const { renewal } = await first;
  assert.ok(renewal);
  return { ...made, renew: () => renewal.load({ refused: true }) };
}

test('a short login prints nothing and leaves no timer', async () => {
  const { clock, lines, renew, end } = await loggedIn();
  const renewed = renew();
  await clock.advance(9_999);
  end();
  await renewed;
  assert.deepEqual([lines, clock.pending], [[], 0]);
});

test('reports a long login after 10 s, then every minute, without limiting the first login', async () => {
  const { login, clock, lines, end } = logins();
  const first = login();
  await clock.advance(3_600_000);
  assert.equal(lines.length, 60);
  assert.deepEqual(lines.slice(0, 2), [
    '0 waiting for the plugin /bin/login to log in user "u", for 10 s so far',
    '0 waiting for the plugin /bin/login to log in user "u", for 70 s so far',
  ]);
  end();
  await first;
  assert.equal(clock.pending, 0);
});

test('a later login fails after the limit, and the result of the running plugin is used', async () => {
  const { login, clock, runs, renew, end } = await loggedIn();
  const waiting = renew();
  const late = assert.rejects(waiting, LATE);
  await clock.advance(LIMIT_MS);
  await late;
  // The next caller, for a renewal or a first login, waits for the same run.
  const [again, anew] = [renew(), login()];
  await flushPromises();
  assert.equal(runs.length, 2);
  end();
  await Promise.all([again, anew]);
  assert.equal(clock.pending, 0);
});

test('restarts a plugin that was ended', async () => {
  const { clock, runs, renew, end } = await loggedIn();
  const waiting = renew();
  const late = assert.rejects(waiting, LATE);
  await clock.advance(LIMIT_MS);
  await late;
  runs.at(-1)?.reject(new Error('killed'));
  await flushPromises();
  const again = renew();
  assert.equal(runs.length, 3);
  end();
  await again;
});

test('waits for a renewal without a limit, including one by an auth-provider', async () => {
  const { clock, lines, renew, end } = await loggedIn({ limitMs: undefined, user: { name: 'u' } });
  const waiting = renew();
  await clock.advance(2 * LIMIT_MS);
  end();
  await waiting;
  assert.equal(lines[0], '0 waiting for the auth-provider to log in user "u", for 10 s so far');
});
