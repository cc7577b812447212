import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkController } from '../../../../src/commands/doctor/controller.ts';
import { readLeases } from '../../../../src/commands/shared/leases.ts';
import type { LeasePort, LeaseRecord } from '../../../../src/controller/leader-election.ts';

const NOW = new Date('2026-11-21T12:00:00Z');

function record(secondsAgo: number, holder = 'host-1'): LeaseRecord {
  const renewed = new Date(NOW.getTime() - secondsAgo * 1000);
  return { holder, durationSeconds: 15, acquired: renewed, renewed, transitions: 0 };
}

interface Look {
  isInstalled?: boolean;
  replicas?: number;
  /** The leases at the second read; undefined: unchanged. */
  later?: Record<string, LeaseRecord>;
}

/** @param leases by namespace */
async function check(leases: Record<string, LeaseRecord>, { isInstalled = false, replicas = 2, later }: Look = {}) {
  let slept = 0;
  const port = (namespace: string): LeasePort => ({
    get: async () => {
      const found = (slept > 0 ? (later ?? leases) : leases)[namespace];
      return found && { record: found, resourceVersion: slept > 0 && later !== undefined ? '2' : '1' };
    },
    create: () => Promise.reject(new Error('it writes')),
    update: () => Promise.reject(new Error('it writes')),
  });
  const seen = readLeases({
    namespaces: ['nodepool-system', 'kube-system'],
    lease: port,
    now: () => new Date(NOW.getTime() + slept),
    sleep: async ms => {
      slept += ms;
    },
  });
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'c' }, spec: { replicas } };
  const findDeployment = async () => (isInstalled ? deployment : undefined);
  const finding = await checkController(seen, { controllerNamespace: 'nodepool-system', findDeployment });
  return { ...finding, slept };
}

test('reports no controller where none is installed', async () => {
  assert.equal((await check({})).status, 'ok');
  const given = await check({ 'kube-system': record(100, '') });
  assert.equal(given.status, 'ok', 'it has given the lease back');
  assert.deepEqual(given.details, []);
});

test('reports a running controller', async () => {
  const { status, details, slept } = await check({ 'kube-system': record(15) });
  assert.deepEqual([status, slept], ['ok', 0]);
  assert.deepEqual(details, ['lease kube-system/kubectl-nodepool: held by host-1, renewed 15 seconds ago']);
  assert.equal((await check({ 'nodepool-system': record(1) }, { isInstalled: true })).status, 'ok');
  assert.equal((await check({ 'nodepool-system': record(-5) }, { isInstalled: true })).status, 'ok');
});

test('reports a controller that died', async () => {
  const { status, details, remedy } = await check({ 'kube-system': record(16) });
  assert.equal(status, 'warning');
  assert.deepEqual(details, [
    'lease kube-system/kubectl-nodepool: held by host-1, renewed 20 seconds ago; it lasts 15',
  ]);
  assert.match(remedy ?? '', /kubectl -n kube-system delete lease kubectl-nodepool/);
});

test('checks twice whether a holder with a skewed clock renews its lease', async () => {
  const cases: [secondsAgo: number, clock: string][] = [
    [3600, '3604 seconds behind'],
    [-3600, '3596 seconds ahead of'],
  ];
  for (const [secondsAgo, clock] of cases) {
    const leases = { 'nodepool-system': record(secondsAgo) };
    const alive = await check(leases, { isInstalled: true, later: leases });
    assert.equal(alive.status, 'ok');
    assert.match(alive.details[0] ?? '', new RegExp(`, renewed just now by a clock ${clock} the server's$`));
    assert.equal((await check(leases, { isInstalled: true })).status, 'error');
  }
  const given = await check({ 'kube-system': record(16) }, { later: { 'kube-system': record(0, '') } });
  assert.match(given.message, /^no controller is running/, 'it was given back meanwhile');
});

test('requires that an installed controller runs and holds its own lease', async () => {
  for (const leases of [
    {},
    { 'nodepool-system': record(16) },
    { 'nodepool-system': record(1, '') },
    { 'kube-system': record(1) },
  ]) {
    const { status, remedy } = await check(leases, { isInstalled: true });
    assert.equal(status, 'error');
    assert.match(
      remedy ?? '',
      /kubectl -n nodepool-system logs -l app.kubernetes.io\/name=nodepool-controller --prefix/,
    );
  }
});

test('reports a Deployment without replicas', async () => {
  const { status, message, remedy } = await check({}, { isInstalled: true, replicas: 0 });
  assert.equal(status, 'error');
  assert.match(message, /its Deployment has 0 replicas$/);
  assert.match(remedy ?? '', /kubectl -n nodepool-system scale deployment nodepool-controller --replicas 2/);
});

test('reports two controllers', async () => {
  const leases = { 'kube-system': record(1), 'nodepool-system': record(2) };
  const { status, details } = await check(leases, { isInstalled: true });
  assert.deepEqual([status, details.length], ['warning', 2]);
});
