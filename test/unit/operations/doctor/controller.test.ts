import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LeaseRecord } from '../../../../src/controller/leader-election.ts';
import { checkController } from '../../../../src/operations/doctor/controller.ts';
import type { LeasePort } from '../../../../src/operations/ports.ts';

const NOW = new Date('2026-11-21T12:00:00Z');

function record(secondsAgo: number, holder = 'host-1'): LeaseRecord {
  const renewed = new Date(NOW.getTime() - secondsAgo * 1000);
  return { holder, durationSeconds: 15, acquired: renewed, renewed, transitions: 0 };
}

/** @param leases by namespace */
function check(leases: Record<string, LeaseRecord>, isInstalled = false) {
  const port = (namespace: string): LeasePort => ({
    get: async () => {
      const found = leases[namespace];
      return found && { record: found, resourceVersion: '1' };
    },
    create: () => Promise.reject(new Error('it writes')),
    update: () => Promise.reject(new Error('it writes')),
  });
  return checkController({
    namespaces: ['nodepool-system', 'kube-system'],
    isInstalled: async () => isInstalled,
    lease: port,
    now: () => NOW,
  });
}

test('nobody, and nobody is meant to be', async () => {
  assert.equal((await check({})).status, 'ok');
  assert.equal((await check({ 'kube-system': record(100, '') })).status, 'ok', 'it has given the lease back');
});

test('one that is at work', async () => {
  const { status, details } = await check({ 'kube-system': record(15) });
  assert.equal(status, 'ok');
  assert.deepEqual(details, ['lease kube-system/kubectl-nodepool: held by host-1, renewed 15 seconds ago']);
  assert.equal((await check({ 'nodepool-system': record(1) }, true)).status, 'ok');
  assert.equal((await check({ 'nodepool-system': record(-5) }, true)).status, 'ok', 'its clock is ahead');
});

test('one that died', async () => {
  const { status, details, remedy } = await check({ 'kube-system': record(16) });
  assert.equal(status, 'warning');
  assert.deepEqual(details, [
    'lease kube-system/kubectl-nodepool: held by host-1, renewed 16 seconds ago; it lasts 15',
  ]);
  assert.match(remedy ?? '', /kubectl -n kube-system delete lease kubectl-nodepool/);
});

test('one that is installed has to be at work, with its own lease', async () => {
  for (const leases of [
    {},
    { 'nodepool-system': record(16) },
    { 'nodepool-system': record(1, '') },
    { 'kube-system': record(1) },
  ]) {
    const { status, remedy } = await check(leases, true);
    assert.equal(status, 'error');
    assert.match(remedy ?? '', /kubectl -n nodepool-system logs deploy\/nodepool-controller/);
  }
});

test('two at once', async () => {
  const { status, details } = await check({ 'kube-system': record(1), 'nodepool-system': record(2) }, true);
  assert.deepEqual([status, details.length], ['warning', 2]);
});
