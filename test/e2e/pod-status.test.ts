/** READY, STATUS and RESTARTS of pods in `view`, beside those of `kubectl get pods`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const PODS = '/api/v1/namespaces/default/pods';
const AT = { finishedAt: '2026-01-01T00:00:00Z', startedAt: '2026-01-01T00:00:00Z' };
const RUNNING = { running: { startedAt: AT.startedAt } };
const waiting = (reason: string) => ({ waiting: { reason } });
const ended = (exitCode: number, more: object = {}) => ({ terminated: { exitCode, ...AT, ...more } });
const COMPLETED = ended(0, { reason: 'Completed' });

interface ContainerCase {
  state: object;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  /** An init container that stays. */
  sidecar?: true;
}

interface Case {
  init?: ContainerCase[];
  main?: ContainerCase[];
  phase?: string;
  reason?: string;
  conditions?: string[];
  isDeleted?: true;
}

const up: ContainerCase = { state: RUNNING, ready: true, started: true };
const done: ContainerCase = { state: COMPLETED };
const initializing: ContainerCase = { state: waiting('PodInitializing') };
const CASES: Record<string, Case> = {
  running: { main: [up, { ...up, restartCount: 3 }], conditions: ['Ready'] },
  'not-ready': { main: [up, { state: RUNNING }] },
  'one-finished': { main: [up, done], conditions: ['Ready', 'Initialized'] },
  'one-finished-not-ready': { main: [up, done] },
  'one-finished-none-ready': { main: [{ state: RUNNING }, done] },
  'all-finished': { main: [done, done], phase: 'Succeeded' },
  crashing: { main: [{ state: waiting('CrashLoopBackOff'), restartCount: 7 }, up] },
  'two-reasons': { main: [{ state: waiting('ImagePullBackOff') }, { state: waiting('CrashLoopBackOff') }] },
  'exit-code': { main: [{ state: ended(3) }], phase: 'Failed' },
  signal: { main: [{ state: ended(137, { signal: 9 }) }], phase: 'Failed' },
  evicted: { main: [], phase: 'Failed', reason: 'Evicted' },
  pending: { main: [], phase: 'Pending' },
  creating: { main: [{ state: waiting('ContainerCreating') }], phase: 'Pending' },
  'init-crashing': {
    init: [{ ...done, restartCount: 1 }, { state: waiting('CrashLoopBackOff'), restartCount: 5 }, initializing],
    main: [initializing],
    phase: 'Pending',
  },
  'init-second': { init: [done, { state: RUNNING }], main: [initializing], phase: 'Pending' },
  'init-not-begun': { init: [initializing, initializing], main: [initializing], phase: 'Pending' },
  'init-failed': { init: [{ state: ended(1, { reason: 'Error' }) }], main: [initializing], phase: 'Pending' },
  'init-exit-code': { init: [{ state: ended(2) }], main: [initializing], phase: 'Pending' },
  'init-signal': { init: [{ state: ended(137, { signal: 9 }) }], main: [initializing], phase: 'Pending' },
  'init-again': {
    init: [{ state: RUNNING, restartCount: 1 }],
    main: [{ ...up, restartCount: 2 }],
    conditions: ['Initialized', 'Ready'],
  },
  sidecar: {
    init: [
      { ...up, sidecar: true, restartCount: 2 },
      { ...done, restartCount: 4 },
    ],
    main: [{ ...up, restartCount: 1 }],
    conditions: ['Initialized', 'Ready'],
  },
  'sidecar-not-ready': { init: [{ ...up, ready: false, sidecar: true }], main: [up], conditions: ['Initialized'] },
  'sidecar-starting': {
    init: [{ state: RUNNING, started: false, sidecar: true }],
    main: [initializing],
    phase: 'Pending',
  },
  'sidecar-crashing': {
    init: [{ state: waiting('CrashLoopBackOff'), restartCount: 6, started: false, sidecar: true }],
    main: [{ ...up, restartCount: 1 }],
    conditions: ['Initialized'],
  },
  'sidecar-ended': { init: [{ ...done, sidecar: true }], main: [done], phase: 'Succeeded' },
  deleted: { main: [up], conditions: ['Ready'], isDeleted: true },
  'deleted-init': { init: [{ state: RUNNING }], main: [initializing], phase: 'Pending', isDeleted: true },
  'deleted-ended': { main: [done], phase: 'Succeeded', isDeleted: true },
  'deleted-lost': { main: [up], reason: 'NodeLost', isDeleted: true },
};

const named = (kind: string, cases: readonly ContainerCase[]) =>
  cases.map((each, at) => ({ ...each, name: `${kind}${at}` }));
const statusOf = ({ name, state, ready = false, started, restartCount = 0 }: ContainerCase & { name: string }) => ({
  ...{ name, state, ready, restartCount, image: 'i', imageID: 'i' },
  ...(started === undefined ? {} : { started }),
});

test('prints READY, STATUS and RESTARTS as kubectl get pods does', async t => {
  const api = raw(testEnv.cluster());
  await testEnv.nodes({ name: 'n' });
  t.after(async () => {
    for (const name of Object.keys(CASES))
      await api.request('PATCH', `${PODS}/${name}`, { metadata: { finalizers: null } });
    await api.expect('DELETE', `${PODS}?gracePeriodSeconds=0`);
  });
  for (const [name, { init = [], main = [], phase = 'Running', reason, conditions = [], isDeleted }] of Object.entries(
    CASES,
  )) {
    const [inits, mains] = [named('i', init), named('m', main)];
    const containers = (mains.length > 0 ? mains : named('m', [up])).map(each => ({ name: each.name, image: 'i' }));
    const initContainers = inits.map(each => ({
      ...{ name: each.name, image: 'i' },
      ...(each.sidecar ? { restartPolicy: 'Always' } : {}),
    }));
    const finalizers = isDeleted ? ['example.com/kept'] : [];
    await api.expect('POST', PODS, {
      metadata: { name, finalizers },
      spec: { nodeName: 'n', containers, initContainers },
    });
    const status = {
      ...(reason === undefined ? {} : { reason }),
      phase,
      conditions: conditions.map(type => ({ type, status: 'True' })),
      containerStatuses: mains.map(statusOf),
      initContainerStatuses: inits.map(statusOf),
    };
    await api.expect('PATCH', `${PODS}/${name}/status`, { status });
    if (isDeleted) await api.expect('DELETE', `${PODS}/${name}`);
  }
  const { stdout } = await kubectl(testEnv.cluster(), ['get', 'pods', '--no-headers']);
  const expected = stdout
    .trim()
    .split('\n')
    .map(line => line.split(/\s+/).slice(0, 4).join(' '));
  const rows = await (await testEnv.connection()).pods.rows(['n']);
  assert.equal(rows.length, Object.keys(CASES).length);
  assert.deepEqual(
    rows.map(({ name, ready, status, restarts }) => `${name} ${ready} ${status} ${restarts}`),
    expected,
  );
});
