import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkClock,
  checkKubeconfig,
  checkServer,
  checkVersion,
  clockSkewMs,
  TRIED_MINOR,
} from '../../../../src/commands/doctor/run.ts';
import type { AccessFacts, ServerProbe } from '../../../../src/kube/resources/doctor.ts';
import { VERSIONS } from '../../../cluster/programs.ts';

const ACCESS: AccessFacts = {
  context: 'prod',
  cluster: 'c1',
  server: 'https://one:6443',
  user: 'ann',
  source: '/k',
  verifiesServer: true,
};
const probe = (more: Partial<ServerProbe> = {}): ServerProbe => ({
  version: 'v1.36.3',
  latencyMs: 3.4,
  clocks: undefined,
  isAnonymous: false,
  ...more,
});

test('reports the source of the access', () => {
  const { status, message } = checkKubeconfig(ACCESS);
  assert.deepEqual([status, message], ['ok', '/k: context prod, cluster c1, user ann']);
  const anonymous = checkKubeconfig({ ...ACCESS, context: undefined, user: '', verifiesServer: false });
  assert.equal(anonymous.status, 'warning');
  assert.equal(anonymous.message, "/k: cluster c1, no user; the server's identity is not verified");
});

test('reports the latency in whole milliseconds, at least one', () => {
  assert.equal(checkServer(ACCESS, probe()).message, 'https://one:6443 answers in 3 ms');
  assert.equal(checkServer(ACCESS, probe({ latencyMs: 0.2 })).message, 'https://one:6443 answers in 1 ms');
});

test('compares versions', () => {
  const cases: [version: string | undefined, status: string][] = [
    ['v1.29.15', 'error'],
    ['v1.30.0', 'ok'],
    ['v1.31.4-eks-2d5f260', 'ok'],
    ['v1.33.5-gke.1162000', 'ok'],
    ['v1.37.0', 'ok'],
    ['v1.38.0-alpha.1', 'warning'],
    ['v2.0.0', 'warning'],
    ['what', 'warning'],
    [undefined, 'warning'],
  ];
  for (const [version, status] of cases) assert.equal(checkVersion(probe({ version })).status, status, `${version}`);
  assert.match(VERSIONS['kube-apiserver'], new RegExp(`^v1[.]${TRIED_MINOR}[.]`), 'what the tests run on');
});

test('compares clocks', () => {
  const ours = new Date('2026-11-21T12:00:00.500Z');
  const at = (seconds: number) => probe({ clocks: { server: new Date(ours.getTime() - 500 + seconds * 1000), ours } });
  assert.equal(clockSkewMs(at(0)), 0);
  assert.equal(clockSkewMs(probe()), undefined);
  assert.equal(checkClock(probe()).status, 'ok');
  for (const seconds of [0, 4, -4]) assert.equal(checkClock(at(seconds)).status, 'ok');
  assert.equal(checkClock(at(5)).message, "this machine's clock is 5 s behind the server's");
  assert.equal(checkClock(at(-299)).message, "this machine's clock is 299 s ahead of the server's");
  assert.equal(checkClock(at(-299)).status, 'warning');
  assert.equal(checkClock(at(300)).status, 'error');
});
