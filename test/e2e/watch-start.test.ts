/** `reconcile --watch` that cannot start, or whose login hangs, logs the reason in JSON. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

interface Entry {
  level: string;
  message: string;
  next?: string;
}

const entries = (log: string): Entry[] =>
  log
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));

test('--log-format json logs a start-up error as one entry, with the same exit code as text', async t => {
  const busy = createServer().listen(0, '127.0.0.1');
  t.after(() => busy.close());
  await new Promise(resolve => busy.once('listening', resolve));
  const { port } = busy.address() as AddressInfo;
  const bob = await kubeconfigFor(cluster(), 'bob');
  const cases: [args: string[], code: number, message: RegExp, next: RegExp][] = [
    [['--kubeconfig', '/nowhere'], 1, /^--kubeconfig: no such file: \/nowhere$/, /^check the path$/],
    [['--kubeconfig', bob], 1, /^user "bob" may not list nodepools$/, /^ask for a role with verb/],
    [['--metrics-bind-address', String(port)], 1, /^--metrics-bind-address \d+: .*EADDRINUSE/, /another address$/],
    [['--resync', 'soon'], 2, /^--resync: "soon" is not a duration$/, /^write it like 30s/],
    [['--nope'], 2, /^unknown flag --nope$/, /^see 'kubectl nodepool reconcile --help'$/],
  ];
  for (const [args, code, message, next] of cases) {
    const base = ['reconcile', '--watch', ...args];
    const json = await cli(cluster(), [...base, '--log-format', 'json']);
    const [entry, ...rest] = entries(json.stderr);
    assert.ok(entry !== undefined && rest.length === 0, json.stderr);
    assert.equal(entry.level, 'error');
    assert.match(entry.message, message);
    assert.match(entry.next ?? '', next);
    assert.deepEqual([json.code, json.stdout], [code, '']);
    const text = await cli(cluster(), base);
    assert.equal(text.code, code);
    assert.match(text.stderr, /^error: /);
  }
});

test('--log-format json logs a missing CRD', async t => {
  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
  const { metadata, spec, ...kind } = (await raw(cluster()).expect('GET', crd)) as {
    metadata: { name: string; annotations?: object };
    spec: object;
  };
  await raw(cluster()).expect('DELETE', crd);
  await eventually('it is gone', async () => (await raw(cluster()).request('GET', crd)).status === 404);
  t.after(async () => {
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const { name, annotations } = metadata;
    await raw(cluster()).expect('POST', crds, { ...kind, metadata: { name, annotations }, spec });
    const served = async () => (await raw(cluster()).request('GET', '/apis/nodes.lailin.xyz/v1/nodepools')).status;
    await eventually('it is back', async () => (await served()) === 200);
  });
  const { code, stderr } = await cli(cluster(), ['reconcile', '--watch', '--log-format', 'json']);
  assert.equal(code, 1);
  assert.match(entries(stderr)[0]?.next ?? '', /kubectl nodepool install/);
});

test('names the plugin of a login that hangs', async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'one' } });
  const { dir, server, ca, admin } = cluster();
  const [plugin, ran] = [join(dir, 'hanging-login'), join(dir, 'hanging-login.ran')];
  const status = {
    clientCertificateData: admin.cert,
    clientKeyData: admin.key,
    expirationTimestamp: new Date(Date.now() + 6_000).toISOString(),
  };
  const answer = JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });
  await writeFile(join(dir, 'answer.json'), answer);
  // The hanging plugin outlives the process that started it.
  const script = `#!/bin/sh\n[ -s '${ran}' ] && echo $$ > '${ran}' && exec sleep 120\necho first > '${ran}'\ncat '${join(dir, 'answer.json')}'\n`;
  await writeFile(plugin, script, { mode: 0o755 });
  const kubeconfig = join(dir, 'hanging.kubeconfig');
  const config = {
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [
      {
        name: 'robot',
        user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' } },
      },
    ],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'robot' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  const watching = await startWatching(t, cluster(), '--log-format', 'json', '--kubeconfig', kubeconfig);
  t.after(async () => {
    const pid = Number(await readFile(ran, 'utf8'));
    if (pid > 0) process.kill(pid, 'SIGKILL');
  });
  await new Promise(resolve => setTimeout(resolve, Date.parse(status.expirationTimestamp) - Date.now() + 100));
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  const reported = `waiting for the plugin ${plugin} to log in user "robot", for 10 s so far`;
  const warned = (what: string) =>
    entries(watching.log()).some(({ level, message }) => level === 'warning' && message.includes(what));
  await eventually('it says so', () => warned(reported), 20_000);
});
