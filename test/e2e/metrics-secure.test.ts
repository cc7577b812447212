/** `reconcile --watch --metrics-secure`: HTTPS, only for users with the permission. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KeyPair } from '../../src/commands/reconcile/x509.ts';
import { createAuthority, serverCertificate } from '../cluster/certificates.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { bindReader, metricsAddress, scrape, tokenOf } from './scrape.ts';
import { useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok } = commandsOf(cluster);
const LOCAL = ['--metrics-bind-address', '127.0.0.1:0', '--metrics-secure'];
const ANY = { rejectUnauthorized: false };

test('serves the metrics to users with permission, on leaders and candidates', async t => {
  const [reader, stranger] = [await tokenOf(cluster(), 'reader'), await tokenOf(cluster(), 'stranger')];
  await raw(cluster()).expect('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'reads-metrics' },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  });
  await bindReader(cluster(), 'reader', 'reads-metrics');
  await startWatching(t, cluster(), '--leader-elect');
  const watching = await startWatching(t, cluster(), '--leader-elect', '-v', '8', ...LOCAL);
  const address = metricsAddress(watching.log());
  const status = async (token?: string) => (await scrape(address, token, ANY)).status;
  assert.deepEqual([await status(), await status('forged'), await status(stranger)], [401, 401, 403]);
  const { text } = await scrape(address, stranger, ANY);
  assert.equal(text, 'User "system:serviceaccount:default:stranger" cannot get path "/metrics"\n');
  await eventually('the role counts', async () => (await status(reader)) === 200);
  assert.match((await scrape(address, reader, ANY)).text, /^nodepool_build_info/m);
  assert.match(watching.log(), /POST \S+\/tokenreviews 201/);
  for (const token of [reader, stranger, 'forged']) assert.ok(!watching.log().includes(token), 'no token in the log');
  await assert.rejects(scrape(address, reader, {}), /self.signed certificate/i);
  await assert.rejects(fetch(address.replace('https', 'http')), 'HTTP alone is not served');
  assert.equal(await watching.end(), 0);
});

test('admits nobody if it may not create reviews, and logs the missing permission', async t => {
  await ok(['install']);
  const token = await tokenOf(cluster(), 'visitor');
  const kubeconfig = await userWith(cluster(), 'no-reviews', [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['get', 'list', 'watch'] },
  ]);
  const watching = await startWatching(t, { ...cluster(), kubeconfig }, ...LOCAL);
  assert.equal((await scrape(metricsAddress(watching.log()), token, ANY)).status, 500);
  assert.match(watching.log(), /cannot authorize any reader: .*tokenreviews/);
});

test('serves the certificate of the folder, and the next one after a renewal', { timeout: 60_000 }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'metrics-cert-'));
  t.after(() => rm(folder, { recursive: true }));
  const authority = createAuthority('metrics');
  const write = async ({ cert, key }: KeyPair) => {
    await writeFile(join(folder, 'tls.crt'), cert);
    await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  };
  const flags = [...LOCAL, '--metrics-cert-path'];
  const refused = async (path: string, problem: RegExp) => {
    const { code, stderr } = await cli(cluster(), ['reconcile', '--watch', ...flags, path]);
    assert.equal(code, 1);
    assert.match(stderr, problem);
  };
  await refused(join(folder, 'none'), /--metrics-cert-path: cannot read \S+tls\.crt \(ENOENT\); next: use a directory/);
  await write({ ...serverCertificate(authority, ['127.0.0.1']), key: serverCertificate(authority, ['other']).key });
  await refused(folder, /tls\.key is not the private key of tls\.crt/);

  await write(serverCertificate(authority, ['127.0.0.1']));
  const watching = await startWatching(t, cluster(), ...flags, folder);
  const address = metricsAddress(watching.log());
  const serial = async () => (await scrape(address, undefined, { ca: authority.cert })).serial;
  const first = await serial();
  await writeFile(join(folder, 'tls.key'), 'half a key');
  await eventually('a wrong pair is logged', () => /tls\.key is not the private key/.test(watching.log()));
  assert.equal(await serial(), first, 'the certificate in use stays');
  const broken = serverCertificate(authority, ['127.0.0.1']);
  const notACertificate = '-----BEGIN CERTIFICATE-----\nMIIBgarbage\n-----END CERTIFICATE-----\n';
  await write({ ...broken, cert: `${broken.cert}${notACertificate}` });
  await eventually('a broken chain is logged', () => /cannot serve tls\.crt and tls\.key/.test(watching.log()));
  assert.equal(await serial(), first, 'the certificate in use stays');
  await write(serverCertificate(authority, ['127.0.0.1']));
  await eventually('the next one is served', async () => (await serial().catch(() => first)) !== first);
  assert.equal(await watching.end(), 0);
  await assert.rejects(serial(), 'it ended');
});

test('refuses flags that would expose the metrics', async () => {
  const refused = async (...flags: string[]) => (await cli(cluster(), ['reconcile', '--watch', ...flags])).stderr;
  assert.match(
    await refused('--metrics-secure'),
    /--metrics-secure needs --metrics-bind-address; next: add --metrics-bind-address :8443/,
  );
  assert.match(await refused('--metrics-bind-address', ':0', '--metrics-cert-path', '.'), /needs --metrics-secure/);
});
