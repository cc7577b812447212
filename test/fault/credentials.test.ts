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
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList } from './asked.ts';
import { converged, type Test, useFaultEnv } from './fault-env.ts';
import { startProxy } from './proxy.ts';
import { kubeconfigOf } from './proxy-kubeconfig.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const SECRETS = '/api/v1/namespaces/default/secrets';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
/** How long the API server caches a successful token review: 10 s. */
const REVOKED_MS = 20_000;

const BAD_MS = 4_000;
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

/** The scenario with a revoked token, and another one for the plugin's next run. */
async function running(t: Test) {
  const robot = await login(t);
  const [first, second] = [await robot.newToken(), await robot.newToken()];
  await robot.give(first.text);
  const run = await begin(testEnv, t, { through: robot });
  await first.revoke();
  const asked = run.proxy.requests.length;
  return { ...robot, ...run, second, since: () => run.proxy.requests.slice(asked) };
}

row(
  {
    fault: 'credentials expire',
    how: 'the token of an exec plugin is revoked, and the plugin still returns it for a while',
    holds: 'requests are retried with delays; the watches resume with the first valid token',
  },
  async (t, facts) => {
    const run = await running(t);
    const { proxy, runs, give, model, child, second, since } = run;
    proxy.cut();
    await model.drift('drifts', { tier: 'drifted' });
    await sleep(BAD_MS);
    facts.logins = (await runs()) - 1;
    assert.ok(facts.logins > 1 && facts.logins <= MAX_LOGINS, `${facts.logins} logins`);
    assert.ok(child.isAlive);
    await give(second.text);
    await converged(model, proxy);
    facts.refused = refused(since());
    assert.ok(facts.refused > 0);
    await change(model);
    await judge(testEnv, run);
    assert.deepEqual(since().filter(isList), []);
    assert.equal(await child.end(), 0);
  },
);
