import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, NODE_POOLS, NODES, pathOf, qualifiedName } from '../../../../src/kube/api/resource.ts';
import { KeptAnnotations } from '../../../../src/kube/resources/kept-annotations.ts';
import { nodePatchBody, toNode } from '../../../../src/kube/resources/nodes.ts';
import { retryDelay } from '../../../../src/kube/transport/answer.ts';
import { logAnswer, logRequest, userAgent } from '../../../../src/kube/transport/request-log.ts';

test("uses Go's names for platform and architecture in the User-Agent", () => {
  assert.equal(userAgent('1.2.3', 'linux', 'x64'), 'kubectl-nodepool/1.2.3 (linux/amd64)');
  assert.equal(userAgent('1.2.3', 'darwin', 'arm64'), 'kubectl-nodepool/1.2.3 (darwin/arm64)');
  assert.equal(userAgent('1.2.3', 'win32', 'x64'), 'kubectl-nodepool/1.2.3 (windows/amd64)');
});

test('builds paths and resource names', () => {
  assert.equal(pathOf(NODES), '/api/v1/nodes');
  assert.equal(pathOf(NODE_POOLS, 'a', 'status'), '/apis/nodes.lailin.xyz/v1/nodepools/a/status');
  assert.equal(pathOf(EVENTS), '/apis/events.k8s.io/v1/namespaces/default/events');
  assert.equal(pathOf(NODES, 'a b?'), '/api/v1/nodes/a%20b%3F');
  for (const name of ['', '.', '..', '../secrets?', 'a/status', 'a%2Fstatus']) {
    assert.throws(() => pathOf(NODES, name), { kind: 'input', message: `"${name}" cannot be the name of a Node` });
  }
  assert.equal(qualifiedName(NODES), 'nodes');
  assert.equal(qualifiedName(NODE_POOLS), 'nodepools.nodes.lailin.xyz');
});

test('retries only 429 and 503 with Retry-After', () => {
  const delay = (status: number, value?: string) =>
    retryDelay({ status, headers: value === undefined ? {} : { 'retry-after': value } }, 0);
  assert.equal(delay(429, '1'), 1000);
  assert.equal(delay(503, '0'), 0);
  assert.equal(delay(429, '3600'), 3_600_000);
  assert.equal(delay(429), undefined);
  assert.equal(delay(503, 'Wed, 21 Oct 2026 07:28:00 GMT'), undefined);
  assert.equal(delay(500, '1'), undefined);
  assert.equal(delay(200, '1'), undefined);
  assert.equal(retryDelay({ status: 429, headers: { 'retry-after': '2' } }, 0.5), 2200, 'later, never sooner');
});

test('puts only changed fields into a node patch', () => {
  const resourceVersion = '7';
  assert.deepEqual(nodePatchBody({ resourceVersion }), { metadata: { resourceVersion } });
  const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' as const }];
  assert.deepEqual(nodePatchBody({ resourceVersion, labels: { a: null }, taints, record: null }), {
    metadata: { resourceVersion, labels: { a: null }, annotations: { 'nodes.lailin.xyz/applied': null } },
    spec: { taints },
  });
  assert.deepEqual(nodePatchBody({ resourceVersion, unschedulable: true }).spec, { unschedulable: true });
  assert.deepEqual(nodePatchBody({ resourceVersion, unschedulable: false }).spec, { unschedulable: null });
});

test('patches a node without labels, annotations and taints', () => {
  assert.deepEqual(toNode({ metadata: { name: 'n', uid: 'u', resourceVersion: '1' } }, new KeptAnnotations()), {
    name: 'n',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '',
    labels: {},
    taints: [],
    ready: false,
    unschedulable: false,
    allocatable: {},
  });
});

test('redacts credentials and cuts long bodies in the log', () => {
  const lines: string[] = [];
  const log = (level: number, text: () => string) => lines.push(`${level} ${text()}`);
  logRequest(log, { authorization: 'Bearer secret', Accept: 'application/json' }, '{"a":1}');
  const headers = { server: 's', 'set-cookie': ['session=secret'] };
  const answer = { status: 200, headers, text: 'x'.repeat(20_000), bytes: 20_000 };
  logAnswer(log, 'GET', new URL('https://s/api'), answer, 12.4);
  assert.deepEqual(lines.slice(0, 4), [
    '8 request headers: authorization: <hidden>, Accept: application/json',
    '8 request body: {"a":1}',
    '6 GET https://s/api 200 in 12 ms',
    '8 answer headers: {"server":"s","set-cookie":"<hidden>"}',
  ]);
  assert.equal(lines[4], `8 answer body: ${'x'.repeat(10_240)}… (20000 characters)`);
});
