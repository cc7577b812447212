/** After many patches of nodes, answers have only the metadata, unless something on the server may change nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect } from '../../src/kube/connect.ts';
import type { Node, Taint } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { mutatingPolicy, mutatingWebhook, type Probe } from '../fault/mutating.ts';
import { userWith } from './users.ts';

const cluster = useCluster({ own: true }, at => createNodes(at, [{ name: 'a', labels: { tier: 'gold' } }]));
const MARKER = { key: 'expected', effect: 'NoSchedule' } as const;
const MANY = 51;
/** In which the question is answered. */
const ANSWER_MS = 1_000;

test('asks for the metadata alone, and returns the expected spec and status with it', async t => {
  const { answers, last } = await patchOften(t, cluster().kubeconfig);
  assert.ok(
    answers.slice(0, MANY - 1).every(({ taints }) => taints.length === 0),
    'whole nodes at first',
  );
  assert.deepEqual(last.taints, [MARKER], 'not asked of the server');
  assert.equal(last.ready, true);
  assert.deepEqual(last.allocatable, { cpu: '99' });
  const stored = await raw(cluster()).expect('GET', '/api/v1/nodes/a');
  const { resourceVersion, uid, labels } = (stored as { metadata: Record<string, unknown> }).metadata;
  assert.deepEqual([last.resourceVersion, last.uid, last.labels], [resourceVersion, uid, labels]);
});

test('asks for whole nodes to the end where a node came back with other taints than were sent', async t => {
  assert.deepEqual((await patchOften(t, cluster().kubeconfig, [MARKER])).last.taints, []);
});

test('asks for whole nodes while a policy may change nodes', async t => {
  const label = { patchType: 'ApplyConfiguration', applyConfiguration: { expression: LABELLED } } as const;

  const policy = await mutatingPolicy(cluster(), 'labels', { prefix: 'a', mutation: label, probe: PROBE });
  t.after(() => policy.end());
  assert.deepEqual((await patchOften(t, cluster().kubeconfig)).last.taints, []);
});

test('asks for whole nodes while a webhook may change nodes', async t => {
  const webhook = await mutatingWebhook(cluster(), 'labels', {
    prefix: 'a',
    label: 'seen',
    value: 'yes',
    probe: PROBE,
  });
  t.after(() => webhook.end());
  assert.deepEqual((await patchOften(t, cluster().kubeconfig)).last.taints, []);
});

test('asks for whole nodes where the user may not read what may change nodes', async t => {
  const rules: Parameters<typeof userWith>[2] = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch'] },
  ];
  const kubeconfig = await userWith(cluster(), 'patcher', rules);
  assert.deepEqual((await patchOften(t, kubeconfig)).last.taints, []);
});

const LABELLED = 'Object{metadata: Object.metadata{labels: {"seen": "yes"}}}';

const PROBE: Probe = {
  node: 'a',
  patch: { metadata: { labels: { seen: null } } },
  isChanged: ({ metadata }) => metadata.labels?.seen === 'yes',
};

/**
 * Patches one label again and again, and expects a node that is none of the server's; its taints only at last.
 * @param first taints that are expected before
 */
async function patchOften(
  t: { after(end: () => void): void },
  kubeconfig: ControlPlane['kubeconfig'],
  first: Taint[] = [],
) {
  const connection: Connection = await connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0' });
  t.after(() => connection.close());
  const { nodes } = connection.cluster;
  let node = await nodes.get('a');
  assert.ok(node);
  const answers: Node[] = [];
  for (let at = 0; at <= MANY; at++) {
    if (at === MANY) await sleep(ANSWER_MS);
    const { resourceVersion }: Node = node;
    const expected: Node = { ...node, ready: true, taints: at === MANY ? [MARKER] : first, allocatable: { cpu: '99' } };
    const write = await nodes.patch('a', { resourceVersion, labels: { turn: String(at % 2) } }, { expected });
    assert.ok(write.kind === 'written');
    answers.push(write.node);
    node = write.node;
  }
  return { answers, last: node };
}
