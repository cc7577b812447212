/** The lender of control planes (test/cluster/lender.ts): each file of a test run gets one that works, in its initial state. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseControlPlane } from '../cluster/lease.ts';
import { startLender } from '../cluster/lender.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from './watching.ts';

/** The lender restores what it gets back, and lends it then. */
const RESTORED_MS = 2_000;

test('a leased control plane works and is empty', { timeout: 120_000 }, async t => {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-lender-'));
  const socket = join(dir, 'socket');
  const lender = await startLender(socket);
  t.after(async () => {
    await lender.stop();
    await rm(dir, { recursive: true });
  });
  const lease = () => leaseControlPlane(socket, 'bare');
  const nodesOf = async (plane: Awaited<ReturnType<typeof lease>>) =>
    ((await raw(plane).expect('GET', '/api/v1/nodes')) as { items: unknown[] }).items.length;

  const first = await lease();
  await createNodes(first, [{ name: 'a' }]);
  assert.equal(await nodesOf(first), 1);
  await first.stop();
  await sleep(RESTORED_MS);

  const second = await lease();
  assert.equal(second.server, first.server, 'it is lent again');
  assert.equal(await nodesOf(second), 0);
  const [, apiserver = 0] = second.pids;
  process.kill(apiserver, 'SIGKILL');
  await second.stop();
  await sleep(RESTORED_MS);

  const third = await lease();
  assert.notEqual(third.server, second.server, 'one without its API server is not');
  assert.equal(await nodesOf(third), 0);
  await third.stop(true);
  const ask = () => raw(third).request('GET', '/readyz');
  const isEnded = () =>
    ask().then(
      () => false,
      () => true,
    );
  await eventually('one of a failed test is ended', isEnded);
});
