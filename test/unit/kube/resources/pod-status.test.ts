/** test/e2e/pod-status.test.ts compares more of them with kubectl. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podStatusOf } from '../../../../src/kube/resources/pod-status.ts';

const RUNNING = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const up = (name: string, restartCount = 0) => ({ name, ready: true, started: true, state: RUNNING, restartCount });
const waits = (name: string, reason: string, restartCount = 0) => ({
  ...{ name, ready: false, restartCount, state: { waiting: { reason } } },
});
const ended = (name: string, exitCode: number, reason?: string) => ({
  ...{ name, ready: false, restartCount: 0 },
  state: { terminated: { exitCode, ...(reason === undefined ? {} : { reason }) } },
});

/** `1/2 Running 3`. */
function shown(
  init: { name: string }[],
  main: { name: string }[],
  { sidecars = [] as string[], phase = 'Running', conditions = [] as string[] } = {},
): string {
  const pod = {
    spec: {
      containers: main.map(({ name }) => ({ name })),
      initContainers: init.map(({ name }) => ({
        name,
        ...(sidecars.includes(name) ? { restartPolicy: 'Always' } : {}),
      })),
    },
    status: {
      phase,
      conditions: conditions.map(type => ({ type, status: 'True' })),
      containerStatuses: main,
      initContainerStatuses: init,
    },
  };
  const { ready, status, restarts } = podStatusOf(pod as never);
  return `${ready} ${status} ${restarts}`;
}

test('shows an init container that is not done, with its restarts', () => {
  const main = [waits('m', 'PodInitializing')];
  const pending = { phase: 'Pending' };
  assert.equal(shown([waits('i', 'CrashLoopBackOff', 5)], main, pending), '0/1 Init:CrashLoopBackOff 5');
  assert.equal(shown([ended('i', 0), ended('j', 2)], main, pending), '0/1 Init:ExitCode:2 0');
  assert.equal(shown([ended('i', 0), waits('j', 'PodInitializing')], main, pending), '0/1 Init:1/2 0');
  assert.equal(shown([ended('i', 0, 'Completed')], [up('m', 2)]), '1/1 Running 2');
});

test('a pod with a finished container is Running while another container runs', () => {
  const main = [up('m'), ended('n', 0, 'Completed')];
  assert.equal(shown([], main, { conditions: ['Ready'] }), '1/2 Running 0');
  assert.equal(shown([], main), '1/2 NotReady 0');
  assert.equal(shown([], main.slice(1), { phase: 'Succeeded' }), '0/1 Completed 0');
  assert.equal(shown([], [waits('m', 'ErrImagePull'), waits('n', 'CrashLoopBackOff')]), '0/2 ErrImagePull 0');
});

test('a sidecar counts as a container', () => {
  const sidecars = ['i'];
  assert.equal(shown([up('i', 2), ended('j', 0)], [up('m', 1)], { sidecars }), '2/2 Running 3');
  assert.equal(
    shown([waits('i', 'CrashLoopBackOff', 6)], [up('m')], { sidecars, conditions: ['Initialized'] }),
    '1/2 Init:CrashLoopBackOff 6',
  );
});
