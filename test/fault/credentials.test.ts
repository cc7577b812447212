/** The token of a service account from an exec plugin becomes invalid while the product runs. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverCertificate } from '../cluster/certificates.ts';
import { raw } from '../cluster/raw.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList, isWatch } from './asked.ts';
import { converged, type Test, useFaultEnv } from './fault-env.ts';
import type { Model } from './model.ts';
import { writes } from './oracle.ts';
import { startProxy } from './proxy.ts';
import { kubeconfigOf } from './proxy-kubeconfig.ts';
import { row } from './row.ts';
import { begin, judge, type Run } from './runs.ts';
import { change } from './scenario.ts';
import { holdWatches } from './streams.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const SECRETS = '/api/v1/namespaces/default/secrets';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
/** How long the API server caches a successful token review: 10 s. */
const REVOKED_MS = 20_000;

const MANY = Array.from({ length: 20 }, (_, at) => `many-${at}`);
const BAD_MS = 6_000;
/** client-go, too, logs in once more for each refused request; the requests have their back-offs. */
const MAX_LOGINS = 20;

const testEnv = useFaultEnv();
const admin = () => raw(testEnv.cluster());

interface Token {
  text: string;
  /** Resolves when the server refuses the token. */
  revoke(): Promise<void>;
}

/** A service account with cluster-admin, its proxy, and an exec plugin that returns the last token passed to give(). */
async function login(t: Test) {
  const { server, ca, dir, authority } = testEnv.cluster();
  const proxy = await startProxy({ server, ca }, dir, serverCertificate(authority, ['127.0.0.1']));
  t.after(() => proxy.stop());
  const name = `robot-${randomUUID()}`;
  await admin().expect('POST', ACCOUNTS, { metadata: { name } });
  await admin().expect('POST', BINDINGS, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
  });
  const [plugin, answer, log] = ['', '.json', '.runs'].map(ending => join(dir, name + ending)) as [
    string,
    string,
    string,
  ];
  await writeFile(log, '');
  await writeFile(plugin, `#!/bin/sh\necho run >> '${log}'\nsleep 0.2\ncat '${answer}'\n`, { mode: 0o755 });
  const kubeconfig = join(dir, `${name}.kubeconfig`);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' };
  await writeFile(kubeconfig, kubeconfigOf(proxy.url, { exec }, ca), { mode: 0o600 });
  return {
    proxy,
    kubeconfig,
    runs: async () => (await readFile(log, 'utf8')).split('\n').length - 1,
    newToken: () => newToken(name),
    async give(token: string) {
      const content = { apiVersion: exec.apiVersion, kind: 'ExecCredential', status: { token } };
      await writeFile(`${answer}.new`, JSON.stringify(content));
      await rename(`${answer}.new`, answer);
    },
  };
}

/** A token bound to a secret, whose deletion revokes it. */
async function newToken(account: string): Promise<Token> {
  const name = `for-${randomUUID()}`;
  await admin().expect('POST', SECRETS, { metadata: { name } });
  const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name };
  const path = `${ACCOUNTS}/${account}/token`;
  const { status } = (await admin().expect('POST', path, { spec: { boundObjectRef } })) as {
    status: { token: string };
  };
  return {
    text: status.token,
    async revoke() {
      await admin().expect('DELETE', `${SECRETS}/${name}`);
      const { server, ca } = testEnv.cluster();
      const options = { ca, headers: { authorization: `Bearer ${status.token}` } };
      const isRefused = async () => {
        const [answer] = (await once(get(new URL('/api', server), options), 'response')) as [IncomingMessage];
        answer.resume();
        return answer.statusCode === 401;
      };
      await eventually('the server refuses it', isRefused, REVOKED_MS);
    },
  };
}

const refused = (requests: Asked[]) =>
  requests.filter(({ userAgent, status }) => userAgent.startsWith('kubectl-nodepool/') && status === 401).length;

const addMany = (model: Model) => model.addNodes(...MANY.map(name => ({ name, labels: role('two') })));

/** The scenario with a revoked token, and another one for the plugin's next run. */
async function running(t: Test) {
  const robot = await login(t);
  const [first, second] = [await robot.newToken(), await robot.newToken()];
  await robot.give(first.text);
  const run = await begin(testEnv, t, { also: addMany, through: robot });
  await first.revoke();
  const asked = run.proxy.requests.length;
  return { ...robot, ...run, second, since: () => run.proxy.requests.slice(asked) };
}

/** Checks that the plugin ran once more for all refused requests; returns their number. */
async function assertOneLogin({ since, runs }: Awaited<ReturnType<typeof running>>): Promise<number> {
  assert.equal(await runs(), 2);
  return refused(since());
}

/** Makes the changes with the current credentials, and judges the end. */
async function assertGoesOn(run: Run): Promise<void> {
  await change(run.model);
  await judge(testEnv, run);
  assert.equal(await run.child.end(), 0);
}

row(
  {
    fault: 'credentials expire',
    slow: true,
    how: "an exec plugin's token is revoked before writes",
    holds: 'one login; every write is done once',
  },
  async (t, facts) => {
    const run = await running(t);
    const { proxy, give, model, child, second, mark } = run;
    await give(second.text);
    const held = holdWatches(proxy);
    await Promise.all(MANY.map(name => model.drift(name, { tier: 'drifted' })));
    await eventually('they are all on their way', () => held.held() >= MANY.length);
    held.release();
    await converged(model, proxy);
    facts.refused = await assertOneLogin(run);
    // As many as were sent before the first refusal arrived; the others wait for the login.
    assert.ok(facts.refused > 0);
    const once = Object.fromEntries(MANY.map(name => [`patch nodes ${name}`, 1]));
    assert.deepEqual(await writes(testEnv.cluster(), mark), once);
    assert.deepEqual(child.lines(/ (warning|error) /), []);
    await assertGoesOn(run);
  },
);

row(
  {
    fault: 'credentials expire',
    how: "an exec plugin's token is revoked before the watches reconnect",
    holds: 'one login; the watches resume without a list',
  },
  async (t, facts) => {
    const run = await running(t);
    const { proxy, give, model, second, since } = run;
    await give(second.text);
    proxy.cut();
    await eventually(
      'the watches are back',
      () => since().filter(asked => isWatch(asked) && asked.status !== 401).length >= 3,
    );
    await model.drift('drifts', { tier: 'drifted' });
    await converged(model, proxy);
    facts.refused = await assertOneLogin(run);
    assert.ok(facts.refused > 0);
    assert.deepEqual(since().filter(isList), []);
    await assertGoesOn(run);
  },
);

row(
  {
    fault: 'credentials expire',
    slow: true,
    how: 'the exec plugin returns invalid tokens for a while',
    holds: 'never stops, never spins; continues with the first valid token',
  },
  async (t, facts) => {
    const run = await running(t);
    const { proxy, runs, give, model, child, second, since } = run;
    proxy.cut();
    await model.drift('drifts', { tier: 'drifted' });
    await sleep(BAD_MS);
    facts.seconds = BAD_MS / 1000;
    facts.logins = (await runs()) - 1;
    assert.ok(facts.logins > 1 && facts.logins <= MAX_LOGINS, `${facts.logins} logins`);
    assert.ok(child.isAlive);
    await give(second.text);
    await converged(model, proxy);
    assert.deepEqual(since().filter(isList), []);
    await assertGoesOn(run);
  },
);
