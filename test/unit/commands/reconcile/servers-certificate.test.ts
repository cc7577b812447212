/** A renewed certificate: the listening server continues, whatever the files contain. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { type Server, startServers } from '../../../../src/commands/reconcile/servers.ts';
import { type KeyPair, selfSigned } from '../../../../src/commands/reconcile/x509.ts';
import { Registry } from '../../../../src/controller/metrics.ts';
import type { ReviewPort } from '../../../../src/controller/metrics-readers.ts';

test('serves a renewed certificate without closing, and the old one while files are broken', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  t.after(() => rm(folder, { recursive: true }));
  const write = async ({ cert, key }: KeyPair) => {
    await writeFile(join(folder, 'tls.crt'), cert);
    await writeFile(join(folder, 'tls.key'), key);
  };
  await write(selfSigned());
  const metrics = { metricsAddress: '127.0.0.1:0', metricsSecure: true, metricsCertPath: folder };
  let logged = Promise.withResolvers<string>();
  const log = (_level: string, text: string) => logged.resolve(text);
  const servers: Server[] = [];
  const reviews = async () => ({}) as ReviewPort;
  const served = { isReady: () => true, registry: new Registry(), reviews, log };
  await startServers({ ...metrics, healthAddress: undefined }, served, servers);
  const [server = assert.fail()] = servers;
  t.after(() => server.close());
  const port = Number(server.address.split(':')[1]);
  const open = async () => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    return { socket, serial: socket.getPeerCertificate().serialNumber };
  };
  const renew = async (pair: KeyPair) => {
    await write(pair);
    logged = Promise.withResolvers();
    t.mock.timers.tick(10_000);
    return logged.promise;
  };
  const first = await open();

  const next = selfSigned();
  const garbage = '-----BEGIN CERTIFICATE-----\nMIIBgarbage\n-----END CERTIFICATE-----\n';
  const problem = await renew({ ...next, cert: `${next.cert}${garbage}` });
  assert.match(problem, /^--metrics-cert-path: cannot serve tls\.crt and tls\.key in \S+ \(.*base64 decode\)/);
  const second = await open();
  assert.equal(second.serial, first.serial);

  assert.match(await renew(next), /was renewed$/);
  const third = await open();
  assert.notEqual(third.serial, first.serial);
  for (const { socket } of [first, second, third]) {
    assert.ok(!socket.destroyed, 'no connection was closed');
    socket.destroy();
  }
});
