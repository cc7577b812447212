/** Connections and logins when credentials expire, are refused or change, on a real kube-apiserver. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import { loadCredentials } from '../../src/kube/auth/credentials.ts';
import type { ClusterAccess } from '../../src/kube/auth/kubeconfig.ts';
import type { UserEntry } from '../../src/kube/auth/kubeconfig-file.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { clientCertificate, type Validity } from '../cluster/certificates.ts';
import { useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';

const MINUTE_MS = 60_000;
/** A path that every service account may read. */
const READABLE = { path: '/api' };

describe('credentials in use', () => {
  let robots = 0;
  const cluster = useCluster();

  function open(t: TestContext, user: Omit<UserEntry, 'name'>, server = cluster().server) {
    const caData = Buffer.from(cluster().ca).toString('base64');
    const entry = { name: 'c', server, caData, skipTlsVerify: false };
    const access: ClusterAccess = { cluster: entry, user: { name: 'u', ...user }, source: '/k' };
    let passed = 0;
    const answers: string[] = [];
    const transport = new Transport({
      access,
      credentials: () => loadCredentials(access, { env: process.env }),
      userAgent: 'test',
      env: {},
      clock: { ...systemClock, now: () => systemClock.now() + passed },
      log: () => {},
      onRequest: code => answers.push(code),
    });
    t.after(() => transport.close());
    const pass = (ms: number) => {
      passed += ms;
    };
    const ask = async () => (await transport.request(READABLE)).status;
    return { transport, pass, answers, ask, askMany: () => Promise.all(Array.from({ length: 32 }, ask)) };
  }

  /** An exec plugin whose nth run executes the nth case; `runs` counts them. */
  async function plugin(cases: string) {
    const script = join(cluster().dir, `plugin-${++robots}`);
    const log = `${script}.runs`;
    await writeFile(log, '');
    // Long enough for all requests to be refused while it runs.
    const text = `echo run >> '${log}'; sleep 0.2; case $(wc -l < '${log}' | tr -d ' ') in ${cases} esac`;
    await writeFile(script, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const runs = async () => (await readFile(log, 'utf8')).split('\n').length - 1;
    return {
      user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: script, interactiveMode: 'Never' } },
      runs,
    };
  }

  async function gives(status: object): Promise<string> {
    const file = join(cluster().dir, `gives-${++robots}.json`);
    await writeFile(
      file,
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }),
    );
    return `cat '${file}'`;
  }

  async function newToken(): Promise<string> {
    const name = `robot-${++robots}`;
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const admin = raw(cluster());
    await admin.expect('POST', accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const issued = (await admin.expect('POST', `${accounts}/${name}/token`, request)) as { status: { token: string } };
    return issued.status.token;
  }

  /** Forwards bytes to the API server and counts connections. */
  async function relay(t: TestContext) {
    const target = new URL(cluster().server);
    const counts = { opened: 0, closed: 0 };
    const server = createServer(client => {
      counts.opened += 1;
      const upstream = connectSocket(Number(target.port), target.hostname);
      client.pipe(upstream).pipe(client);
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.on('close', () => {
        counts.closed += 1;
        upstream.destroy();
      });
    });
    await new Promise<void>(resolve => {
      server.listen(0, '127.0.0.1', resolve);
    });
    t.after(() => server.close());
    return { server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, counts };
  }

  test('many requests with an expired token log in once', async t => {
    const { user, runs } = await plugin(
      `1) ${await gives({ token: 'old' })};; *) ${await gives({ token: await newToken() })};;`,
    );
    const { askMany } = open(t, user);
    assert.deepEqual(new Set(await askMany()), new Set([200]));
    assert.equal(await runs(), 2);
    await askMany();
    assert.equal(await runs(), 2);
  });

  test('requests with a token that stays invalid log in once more and fail with 401', async t => {
    const { user, runs } = await plugin(`*) ${await gives({ token: 'bad' })};;`);
    const { askMany } = open(t, user);
    assert.deepEqual(new Set(await askMany()), new Set([401]));
    assert.equal(await runs(), 2);
  });

  test('the next request retries a failed login', async t => {
    const { user, runs } = await plugin(`1) exit 1;; *) ${await gives({ token: await newToken() })};;`);
    const { ask } = open(t, user);
    await assert.rejects(ask(), /gave no credentials for user "u"/);
    assert.equal(await ask(), 200);
    assert.equal(await runs(), 2);
  });

  test('runs a plugin again at its expirationTimestamp, not before', async t => {
    const [token, next] = [await newToken(), await gives({ token: await newToken() })];
    const expirationTimestamp = new Date(Date.now() + 4_000).toISOString();
    const { user, runs } = await plugin(`1) ${await gives({ token, expirationTimestamp })};; *) ${next};;`);
    const { ask, askMany, pass } = open(t, user);
    assert.equal(await ask(), 200);
    pass(MINUTE_MS);
    await askMany();
    assert.equal(await runs(), 1);
    await new Promise(resolve => setTimeout(resolve, Date.parse(expirationTimestamp) - Date.now() + 10));
    pass(MINUTE_MS);
    assert.deepEqual(new Set(await askMany()), new Set([200]));
    assert.equal(await runs(), 2);
  });

  test('rereads a token file every minute and keeps the connection', async t => {
    const { server, counts } = await relay(t);
    const tokenFile = join(cluster().dir, 'renewed-token');
    await writeFile(tokenFile, await newToken());
    const { ask, pass } = open(t, { tokenFile }, server);
    for (let minute = 0; minute < 10; minute++) {
      assert.equal(await ask(), 200);
      pass(MINUTE_MS);
    }
    assert.equal(counts.opened, 1);
    await writeFile(tokenFile, await newToken());
    assert.equal(await ask(), 200);
    assert.equal(counts.opened, 1);
  });

  test('a new certificate opens a new connection, and the old one closes after its request', async t => {
    const { server, counts } = await relay(t);
    const { cert, key } = cluster().admin;
    const status = { clientCertificateData: cert, clientKeyData: key };
    const again = { ...status, clientCertificateData: `${cert}\n` };
    const expirationTimestamp = '2001-01-01T00:00:00Z';
    const { user, runs } = await plugin(
      `1|2) ${await gives({ ...status, expirationTimestamp })};; *) ${await gives(again)};;`,
    );
    const { ask, pass, transport } = open(t, user, server);
    assert.equal(await ask(), 200);
    const stop = new AbortController();
    const watch = await transport.stream({ path: '/api/v1/nodes', query: { watch: 'true' } }, stop.signal);
    watch.on('error', () => {});
    watch.resume();
    assert.equal(counts.opened, 1, 'it takes the idle connection');
    pass(MINUTE_MS);
    assert.equal(await ask(), 200);
    assert.deepEqual([await runs(), counts.opened, counts.closed], [2, 2, 0], 'the same certificate');
    pass(MINUTE_MS);
    assert.equal(await ask(), 200);
    await until(() => counts.closed === 1);
    assert.deepEqual([await runs(), counts.opened], [3, 3]);
    assert.equal(watch.destroyed, false, 'the watch goes on');
    stop.abort();
    await until(() => counts.closed === 2);
  });

  describe("a client certificate's files", () => {
    async function rotating(t: TestContext, name: string, user: string, validity: Validity = {}) {
      const [certFile, keyFile] = ['crt', 'key'].map(ending => join(cluster().dir, `${name}.${ending}`)) as [
        string,
        string,
      ];
      const rotate = async (to: string, until: Validity = {}) => {
        const { cert, key } = clientCertificate(cluster().authority, to, [], until);
        await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
      };
      await rotate(user, validity);
      const { server, counts } = await relay(t);
      const opened = open(t, { certFile, keyFile }, server);
      const who = async () => {
        const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
        const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
        const { text } = await opened.transport.request({ method: 'POST', path, body });
        return JSON.parse(text).status.userInfo.username;
      };
      return { ...opened, rotate, who, counts };
    }

    test('are reread every minute, and only a new certificate opens a new connection', async t => {
      const { who, rotate, pass, counts } = await rotating(t, 'each-minute', 'alice');
      assert.equal(await who(), 'alice');
      pass(MINUTE_MS);
      assert.deepEqual([await who(), counts.opened], ['alice', 1]);
      await rotate('bob');
      assert.equal(await who(), 'alice');
      pass(MINUTE_MS);
      assert.deepEqual([await who(), counts.opened], ['bob', 2]);
    });

    test('are reread at once when the server refuses, with one more request each', async t => {
      const notAfter = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2_000);
      const { ask, askMany, rotate, answers } = await rotating(t, 'refused', 'alice', { notAfter });
      assert.equal(await ask(), 200);
      await rotate('alice', { notAfter });
      await new Promise(resolve => setTimeout(resolve, notAfter.getTime() - Date.now() + 1_100));
      answers.length = 0;
      assert.deepEqual(new Set(await askMany()), new Set([401]));
      assert.equal(answers.length, 64, 'another certificate that has expired');
      await rotate('alice');
      answers.length = 0;
      assert.deepEqual(new Set(await askMany()), new Set([200]));
      assert.ok(answers.length <= 64, `${answers.length} requests`);
      answers.length = 0;
      await askMany();
      assert.deepEqual(new Set(answers), new Set(['200']));
    });
  });

  async function until(condition: () => boolean): Promise<void> {
    const ends = performance.now() + 5_000;
    while (!condition()) {
      assert.ok(performance.now() < ends, 'not within 5 s');
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  }
});
