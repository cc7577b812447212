import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doctor } from '../../../../src/commands/doctor/run.ts';
import { CHECKS, type CheckId } from '../../../../src/commands/shared/check.ts';
import type { Connection } from '../../../../src/kube/connect.ts';
import type { ServerProbe } from '../../../../src/kube/resources/doctor.ts';
import { ForbiddenError, NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import { aPool } from '../../nodepool/fixtures.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const refusal = (message: string) => new NodepoolError('cluster', message, 'ask for a role');

interface Parts {
  probe?: () => Promise<ServerProbe>;
  crd?: () => Promise<Record<string, unknown> | undefined>;
  pools?: () => Promise<NodePool[]>;
  lease?: () => Promise<unknown>;
}

/** A healthy cluster except for these parts. */
function connection({ probe, crd, pools, lease }: Parts): Connection {
  const access = { context: 'c', cluster: 'c', server: 'https://s', user: 'u', source: '/k', verifiesServer: true };
  const clocks = { server: NOW, ours: NOW };
  const port = {
    access,
    probe: probe ?? (async () => ({ version: 'v1.36.3', latencyMs: 1, clocks, isAnonymous: false })),
    allowed: async (questions: readonly unknown[]) => questions.map(() => true),
    nodes: { list: async () => [] },
  };
  return {
    doctor: async () => port,
    crd: { get: crd ?? (async () => ({})), otherGroups: async () => [] },
    cluster: {
      pools: { listCoerced: pools ?? (async () => []) },
      nodes: { serverTime: () => new Date() },
      runtimeClasses: { list: async () => [] },
    },
    manifests: { get: async () => undefined },
    lease: () => ({ get: lease ?? (async () => undefined) }),
  } as unknown as Connection;
}

const OPTIONS = { crd: {}, controller: [], policies: [], bornInPool: [], commands: ['get'] };

async function examine(connect: () => Promise<Connection>) {
  const checks = await doctor(OPTIONS, { connect, now: () => NOW, sleep: async () => {} });
  assert.deepEqual(
    checks.map(({ id }) => id),
    [...CHECKS],
  );
  const of = (status: string) => checks.filter(check => check.status === status).map(({ id }) => id);
  return { error: of('error'), warning: of('warning'), skipped: of('skipped'), checks };
}

const from = (id: CheckId) => CHECKS.slice(CHECKS.indexOf(id));

test('reports a healthy cluster', async () => {
  const { error, warning, skipped } = await examine(async () => connection({}));
  assert.deepEqual([error, warning, skipped], [[], [], ['controller-permissions']]);
});

test('reads the pools again only if a controller may run', async () => {
  const status = { status: 200 as const, nodeCount: 9, observedGeneration: 1 };
  const record = { holder: 'h', durationSeconds: 15, acquired: NOW, renewed: NOW, transitions: 0 };
  const reads = async (lease: () => Promise<unknown>) => {
    let count = 0;
    const pools = async () => {
      count++;
      return [aPool({}, { status })];
    };
    await examine(async () => connection({ pools, lease }));
    return count;
  };
  assert.equal(await reads(async () => undefined), 1);
  assert.equal(await reads(async () => ({ record, resourceVersion: '1' })), 2);
  assert.equal(await reads(() => Promise.reject(refusal('cannot get leases'))), 2);
});

test('skips the other checks without access or response, with the reason', async () => {
  const closed = await examine(() => Promise.reject(refusal('no kubeconfig found')));
  assert.deepEqual([closed.error, closed.skipped], [['kubeconfig'], from('server')]);
  assert.equal(closed.checks[1]?.message, 'the kubeconfig is not usable');
  const silent = await examine(async () => connection({ probe: () => Promise.reject(refusal('refused')) }));
  assert.deepEqual([silent.error, silent.skipped], [['server'], from('version')]);
  const anonymous = { version: 'v1.36.3', latencyMs: 1, clocks: undefined, isAnonymous: true };
  const unknown = await examine(async () => connection({ probe: async () => anonymous }));
  assert.deepEqual([unknown.error, unknown.skipped], [['server'], from('version')]);
  assert.match(
    unknown.checks[1]?.message ?? '',
    /^not logged in to https:\/\/s: the server ignores the credentials of user "u"/,
  );
});

test('splits an error of several lines into message and details', async () => {
  const several = new NodepoolError('input', 'invalid:', 'correct it', { items: ['spec.a', 'spec.b'] });
  const { checks } = await examine(() => Promise.reject(several));
  const { message, details, remedy } = checks[0] ?? {};
  assert.deepEqual([message, details, remedy], ['invalid:', ['spec.a', 'spec.b'], 'correct it']);
  const refused = await examine(async () => connection({ pools: () => Promise.reject(several) }));
  const pools = refused.checks.find(({ id }) => id === 'pools');
  assert.deepEqual([pools?.message, pools?.details], ['not checked: invalid:', ['spec.a', 'spec.b']]);
});

test('skips the state without the CRD, but reads pools if only the CRD is forbidden', async () => {
  const missing = { crd: async () => undefined, pools: () => Promise.reject(refusal('no resource')) };
  const none = await examine(async () => connection(missing));
  assert.deepEqual([none.error, none.skipped], [['crd'], ['controller-permissions', ...from('overlaps')]]);
  const closed = { crd: () => Promise.reject(refusal('may not')) };
  const served = await examine(async () => connection(closed));
  assert.deepEqual([served.error, served.warning], [[], []]);
  const neither = await examine(async () => connection({ ...closed, pools: missing.pools }));
  assert.equal(neither.checks.find(({ id }) => id === 'crd')?.message, 'no resource');
});

test('names why the state is not checked: resource not served, or pools forbidden', async () => {
  const why = async (options: object, refused = new NodepoolError('cluster', 'no', 'ask', options)) => {
    const pools = () => Promise.reject(refused);
    const { checks } = await examine(async () => connection({ crd: () => Promise.reject(refusal('no')), pools }));
    return checks.find(({ id }) => id === 'due')?.message;
  };
  assert.equal(await why({}), 'the NodePool resource is not served');
  for (const options of [{ isTransient: true }, { isGeneral: true }]) {
    assert.equal(await why(options), 'pools or nodes could not be read');
  }
  assert.equal(await why({}, new ForbiddenError('no', [])), 'pools or nodes could not be read');
});

test('reports pools that cannot be read for another reason', async () => {
  const { warning, skipped } = await examine(async () => connection({ pools: () => Promise.reject(refusal('500')) }));
  assert.deepEqual(warning, ['pools']);
  assert.deepEqual(skipped, [
    'controller-permissions',
    'overlaps',
    'orphans',
    'rollouts',
    'members',
    'maintenance',
    'due',
    'specs',
    'membership',
    'runtime-classes',
    'handlers',
    'quantities',
    'startup-taints',
  ]);
});

test('throws usage errors and bugs instead of reporting them', async () => {
  const usage = new NodepoolError('usage', '--as-group needs a user to impersonate');
  await assert.rejects(
    examine(() => Promise.reject(usage)),
    usage,
  );
  const bug = new TypeError('x is not a function');
  await assert.rejects(
    examine(async () => connection({ probe: () => Promise.reject(bug) })),
    bug,
  );
});
