/** Credentials are sent to the server of the kubeconfig only, whatever it redirects to. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../../src/controller/clock.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';

const asked: { elsewhere: IncomingMessage[]; server: IncomingMessage[] } = { elsewhere: [], server: [] };
const listen = (server: Server) => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const elsewhere = createServer((request, response) => {
  asked.elsewhere.push(request);
  response.end('{}');
});
const server = createServer((request, response) => {
  asked.server.push(request);
  const status = Number(request.url?.slice(1, 4));
  response.writeHead(status, { location: `${addressOf(elsewhere)}/`, refresh: `0; url=${addressOf(elsewhere)}` }).end();
});
before(() => Promise.all([listen(elsewhere), listen(server)]));
after(() => {
  for (const one of [elsewhere, server]) {
    one.closeAllConnections();
    one.close();
  }
});

function transportTo(address: string) {
  return new Transport({
    access: { cluster: { name: 'c', server: address, skipTlsVerify: false }, user: { name: 'u' }, source: '/k' },
    credentials: async () => ({
      secureContext: undefined,
      headers: { Authorization: 'Bearer secret' },
      certificateEnds: () => undefined,
      renewal: undefined,
    }),
    userAgent: 'test',
    env: {},
    clock: systemClock,
    log: () => {},
  });
}

describe('does not follow a redirect, and sends the token once', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(String(status), async t => {
      const transport = transportTo(addressOf(server));
      t.after(() => transport.close());
      asked.server.length = 0;
      assert.equal((await transport.request({ path: `/${status}` })).status, status);
      assert.equal((await transport.request({ path: `/${status}`, method: 'PATCH', body: {} })).status, status);
      const stream = await transport.stream({ path: `/${status}` }, AbortSignal.timeout(5_000));
      assert.equal(stream.statusCode, status);
      assert.deepEqual(
        asked.server.map(({ method, headers }) => [method, headers.authorization]),
        ['GET', 'PATCH', 'GET'].map(method => [method, 'Bearer secret']),
      );
      assert.deepEqual(asked.elsewhere, []);
    });
  }
});
