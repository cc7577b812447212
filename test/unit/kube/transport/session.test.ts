import assert from 'node:assert/strict';
import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createSecureContext, type TLSSocket } from 'node:tls';
import type { Credentials } from '../../../../src/kube/auth/credentials.ts';
import { Sessions } from '../../../../src/kube/transport/session.ts';
import { createAuthority, serverCertificate } from '../../../cluster/certificates.ts';

const AFTER_MS = 1000;

/** Sessions whose credentials `give` returns; it may throw. */
function sessions(give: () => Partial<Credentials>) {
  const loads = { first: 0, due: 0, refused: 0 };
  let now = 0;
  async function load(kind: keyof typeof loads): Promise<Credentials> {
    loads[kind] += 1;
    await new Promise(resolve => setImmediate(resolve));
    return {
      secureContext: undefined,
      headers: {},
      certificateEnds: () => undefined,
      renewal: { afterMs: AFTER_MS, load: ({ refused }) => load(refused ? 'refused' : 'due') },
      ...give(),
    };
  }
  const opened = new Sessions({
    cluster: { name: 'c', server: 'https://127.0.0.1', skipTlsVerify: false },
    credentials: () => load('first'),
    env: {},
    clock: { now: () => now, after: () => () => {} },
  });
  return {
    opened,
    loads,
    wait: (ms: number) => {
      now += ms;
    },
  };
}

function many<T>(ask: () => Promise<T>): Promise<PromiseSettledResult<T>[]> {
  return Promise.allSettled(Array.from({ length: 32 }, ask));
}

const bearer = (token: string) => ({ headers: { Authorization: token } });

test('loads credentials once, and again after a failure', async () => {
  let fail = true;
  const { opened, loads } = sessions(() => {
    if (fail) throw new Error('no login');
    return {};
  });
  const failed = await many(() => opened.current());
  assert.ok(failed.every(({ status }) => status === 'rejected'));
  assert.deepEqual(loads, { first: 1, due: 0, refused: 0 });
  fail = false;
  await many(() => opened.current());
  assert.deepEqual(loads, { first: 2, due: 0, refused: 0 });
});

test('renews a refused session once for all requests, however late they fail', async () => {
  const { opened, loads } = sessions(() => bearer(`${loads.refused}`));
  const old = await opened.current();
  await many(() => opened.renewed(old));
  const fresh = await opened.renewed(old);
  assert.deepEqual(loads, { first: 1, due: 0, refused: 1 });
  assert.deepEqual(fresh.credentials.headers, bearer('1').headers);
  assert.equal(await opened.current(), fresh);
  assert.equal(fresh.agent, old.agent);
});

test('counts a renewal with the same credentials as a renewal', async () => {
  const { opened, loads } = sessions(() => bearer('bad'));
  const old = await opened.current();
  await many(() => opened.renewed(old));
  await opened.renewed(old);
  assert.deepEqual(loads, { first: 1, due: 0, refused: 1 });
});

test('fails all requests that wait for a failed renewal, and logs in again for the next', async () => {
  let fail = false;
  const { opened, loads } = sessions(() => {
    if (fail) throw new Error('no login');
    return {};
  });
  const old = await opened.current();
  fail = true;
  await many(() => opened.renewed(old));
  await assert.rejects(opened.renewed(old), /no login/);
  assert.deepEqual(loads, { first: 1, due: 0, refused: 1 });
  fail = false;
  assert.notEqual(await opened.current(), old);
  assert.deepEqual(loads, { first: 2, due: 0, refused: 1 });
});

test('refuses again after a due renewal only if the credentials are the same', async () => {
  let token = 'old';
  const { opened, loads, wait } = sessions(() => bearer(token));
  const old = await opened.current();
  wait(AFTER_MS);
  await Promise.all([opened.current(), opened.renewed(old)]);
  assert.deepEqual(loads, { first: 1, due: 1, refused: 1 });
  const second = await opened.current();
  wait(AFTER_MS);
  token = 'new';
  const [, renewed] = await Promise.all([opened.current(), opened.renewed(second)]);
  assert.deepEqual(loads, { first: 1, due: 2, refused: 1 });
  assert.deepEqual(renewed.credentials.headers, bearer('new').headers);
});

test('renews due credentials: unchanged, with a new header, with new TLS material', async () => {
  let given: Partial<Credentials> = { ...bearer('a'), secureContext: createSecureContext() };
  const { opened, loads, wait } = sessions(() => given);
  const first = await opened.current();
  wait(AFTER_MS - 1);
  assert.equal(await opened.current(), first);
  assert.deepEqual(loads, { first: 1, due: 0, refused: 0 });
  wait(1);
  await many(() => opened.current());
  assert.equal(await opened.current(), first);
  assert.deepEqual(loads, { first: 1, due: 1, refused: 0 });

  given = { ...given, ...bearer('b') };
  wait(AFTER_MS);
  const second = await opened.current();
  assert.deepEqual(second.credentials.headers, bearer('b').headers);
  assert.equal(second.agent, first.agent);

  given = { ...given, secureContext: createSecureContext() };
  wait(AFTER_MS);
  const third = await opened.current();
  assert.notEqual(third.agent, first.agent);
});

test('verifies tls-server-name, and sends it as SNI unless it is an address', async t => {
  const authority = createAuthority('test');
  const secureContext = createSecureContext({ ca: authority.cert });
  const reported: unknown[] = [];
  const server = https.createServer(serverCertificate(authority, ['api.example', '192.0.2.7']), (request, response) => {
    reported.push((request.socket as TLSSocket & { servername: unknown }).servername);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const ask = (tlsServerName?: string) =>
    asked(t, (server.address() as AddressInfo).port, secureContext, tlsServerName);
  await ask('api.example');
  await ask('192.0.2.7');
  assert.deepEqual(reported, ['api.example', false]);
  for (const wrong of ['192.0.2.8', 'api2.example', undefined]) {
    await assert.rejects(ask(wrong), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  }
});

async function asked(
  t: TestContext,
  port: number,
  secureContext: Credentials['secureContext'],
  tlsServerName?: string,
) {
  const given = { secureContext, headers: {}, certificateEnds: () => undefined, renewal: undefined };
  const own = { name: 'c', server: `https://127.0.0.1:${port}`, skipTlsVerify: false };
  const opened = new Sessions({
    cluster: tlsServerName === undefined ? own : { ...own, tlsServerName },
    credentials: async () => given,
    env: {},
    clock: { now: () => 0, after: () => () => {} },
  });
  t.after(() => opened.close());
  const { agent } = await opened.current();
  const [response] = await once(https.get(own.server, { agent }), 'response');
  response.resume();
}
