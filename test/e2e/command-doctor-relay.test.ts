/** `doctor` with a server whose clock or version is wrong. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { doctorOf } from './doctoring.ts';
import { listen } from './relay.ts';
import { useTestEnv } from './test-env.ts';

describe('through a relay', () => {
  const { cluster } = useTestEnv();
  const doctor = doctorOf(cluster);

  /** A kubeconfig for a relay that changes the clock and the version of the server. */
  async function relayed(t: TestContext, { aheadMs = 0, version }: { aheadMs?: number; version?: string }) {
    const { server, ca, admin, dir } = cluster();
    const agent = new Agent({ ca, ...admin });
    const front = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, host: new URL(server).host };
      const url = new URL(incoming.url ?? '', server);
      const up = request(url, { method: incoming.method, agent, headers }, answer => {
        const date = new Date(Date.now() + aheadMs).toUTCString();
        if (version === undefined || incoming.url !== '/version') {
          outgoing.writeHead(answer.statusCode ?? 0, { ...answer.headers, date });
          answer.pipe(outgoing);
        } else {
          answer.resume();
          outgoing.writeHead(200, { 'content-type': 'application/json', date });
          outgoing.end(JSON.stringify({ gitVersion: version }));
        }
      });
      incoming.pipe(up);
    });
    const path = join(dir, `relay-${aheadMs}-${version}.kubeconfig`);
    const address = await listen(t, front, agent);
    await writeFile(path, (await readFile(cluster().kubeconfig, 'utf8')).replace(server, address));
    return path;
  }

  test('reports clock skew', async t => {
    const late = await doctor('--kubeconfig', await relayed(t, { aheadMs: 60_000 }));
    assert.deepEqual(late.troubles, ['kubeconfig warning', 'controller-permissions skipped', 'clock warning']);
    assert.match(late.find('clock').message, /^this machine's clock is (59|60|61) s behind the server's$/);
    const far = await doctor('--kubeconfig', await relayed(t, { aheadMs: -3_600_000 }));
    assert.equal(far.find('clock').status, 'error');
  });

  test('reports a server version that is too old', async t => {
    const { find } = await doctor('--kubeconfig', await relayed(t, { version: 'v1.29.9' }));
    assert.deepEqual([find('version').status, find('version').message], ['error', 'Kubernetes v1.29.9 is too old']);
  });
});
