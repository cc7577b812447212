import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import {
  isBeingRemoved,
  isInterrupted,
  isTransient,
  parseTransientKeys,
  TRANSIENT_STATES,
  transientKeysIn,
  transientKeysOf,
  transientKeysProblem,
  transientState,
  transientText,
} from '../../../../src/nodepool/plan/transient-states.ts';
import { validatePool } from '../../../../src/nodepool/spec/validation.ts';
import { TRANSIENT_KEYS_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aPool, recordOf, taint } from '../fixtures.ts';

test('returns the project and phase of a taint or label', () => {
  const cases = [
    ['taint', 'node.cilium.io/agent-not-ready', 'Cilium', 'startup'],
    ['taint', 'ebs.csi.aws.com/agent-not-ready', 'AWS EBS CSI driver', 'startup'],
    ['taint', 'storage.example.com/agent-not-ready', 'an agent of the node', 'startup'],
    ['taint', 'readiness.k8s.io/network', 'Node Readiness Controller', 'startup'],
    ['taint', 'startup-taint.cluster-autoscaler.kubernetes.io/x', 'Cluster Autoscaler', 'startup'],
    ['taint', 'UpdateInProgress', 'Machine Config Operator', 'update'],
    ['taint', 'weave.works/kured-node-reboot', 'kured', 'update'],
    ['taint', 'medik8s.io/drain', 'Node Maintenance Operator (medik8s)', 'update'],
    ['taint', 'aws-node-termination-handler/scheduled-maintenance', 'AWS Node Termination Handler', 'update'],
    ['taint', 'aws-node-termination-handler/spot-itn', 'AWS Node Termination Handler', 'removal'],
    ['taint', 'ToBeDeletedByClusterAutoscaler', 'Cluster Autoscaler', 'removal'],
    ['label', 'nvidia.com/gpu-driver-upgrade-state', 'NVIDIA GPU Operator', 'update'],
    ['label', 'plan.upgrade.cattle.io/server-plan', 'System Upgrade Controller', 'update'],
  ] as const;
  for (const [what, key, project, phase] of cases) {
    const found = transientState(what, key);
    assert.deepEqual([found?.project, found?.phase], [project, phase], key);
  }
});

test('ignores keys that administrators, clouds and discovery set permanently', () => {
  for (const key of ['dedicated', 'nvidia.com/gpu', 'CriticalAddonsOnly', 'node-role.kubernetes.io/control-plane']) {
    assert.equal(transientState('taint', key), undefined, key);
  }
  for (const key of ['tier', 'nvidia.com/gpu.present', 'nvidia.com/mig.config', 'nvidia.com/gpu.deploy.operands']) {
    assert.equal(transientState('label', key), undefined, key);
  }
  assert.equal(transientState('label', 'UpdateInProgress'), undefined);
});

test('isBeingRemoved() is true only for taints of the removal phase', () => {
  for (const text of [
    'ToBeDeletedByClusterAutoscaler=1:NoSchedule',
    'karpenter.sh/disrupted:NoSchedule',
    'node.cloudprovider.kubernetes.io/shutdown:NoSchedule',
    'aws-node-termination-handler/spot-itn=1:NoSchedule',
    'cloud.google.com/impending-node-termination:NoSchedule',
  ]) {
    assert.ok(isBeingRemoved({ taints: [taint('dedicated=x:NoSchedule'), taint(text)], labels: {} }, aPool()), text);
  }
  for (const text of ['DeletionCandidateOfClusterAutoscaler=1:PreferNoSchedule', 'medik8s.io/drain:NoSchedule']) {
    assert.ok(!isBeingRemoved({ taints: [taint(text)], labels: {} }, aPool()), text);
  }
});

test('isBeingRemoved() is true for labels of the removal phase, as termination handlers set them', () => {
  assert.ok(isBeingRemoved({ taints: [], labels: { 'aws-node-termination-handler/action': 'spot-itn' } }, aPool()));
  assert.ok(
    !isBeingRemoved({ taints: [], labels: { 'nvidia.com/gpu-driver-upgrade-state': 'upgrade-done' } }, aPool()),
  );
});

test('isBeingRemoved() ignores keys that the pool sets or has set', () => {
  const [key, action] = ['karpenter.sh/disrupted', 'aws-node-termination-handler/action'];
  const taints = [taint(`${key}:NoSchedule`)];
  const ofLabel = { taints: [], labels: { [action]: 'x' } };
  assert.ok(!isBeingRemoved({ taints, labels: {} }, aPool({ taints })));
  assert.ok(!isBeingRemoved({ taints, labels: {} }, aPool({ startupTaints: taints })));
  assert.ok(!isBeingRemoved(ofLabel, aPool({ labels: { [action]: 'x' } })));
  const parts = [{ taints: { [`${key}:NoSchedule`]: '' } }, { startup: { [`${key}:NoSchedule`]: '' } }];
  const [byTaint, byStartup] = parts.map(part => parseRecord(recordOf({ pool: 'worker', ...part })));
  for (const record of [byTaint, byStartup]) assert.ok(!isBeingRemoved({ taints, labels: {} }, aPool(), record));
  assert.ok(!isBeingRemoved(ofLabel, aPool(), parseRecord(recordOf({ pool: 'worker', labels: { [action]: 'x' } }))));
  assert.ok(isBeingRemoved({ ...ofLabel, taints }, aPool(), byTaint), 'the label is of others');
});

test('isInterrupted() is true for cordons, updates and keys that the user names', () => {
  const pool = aPool({ taints: [taint('example.com/own:NoSchedule')], startupTaints: [taint('acme.io/a:NoSchedule')] });
  const is = (more: { taints?: string[]; labels?: Record<string, string>; unschedulable?: boolean }) =>
    isInterrupted(
      { labels: {}, unschedulable: false, ...more, taints: (more.taints ?? []).map(text => taint(text)) },
      pool,
      ['example.com/*', 'acme.io/a'],
    );
  assert.ok(is({ unschedulable: true }));
  assert.ok(is({ taints: ['UpdateInProgress:PreferNoSchedule'] }));
  assert.ok(is({ taints: ['weave.works/kured-node-reboot:PreferNoSchedule'] }));
  assert.ok(is({ taints: ['example.com/spot:NoSchedule'] }) && is({ labels: { 'example.com/spot': '' } }));
  assert.ok(!is({ taints: ['example.com/own:NoSchedule', 'acme.io/a:NoSchedule'] }), 'what the pool gives itself');
  // What follows when a node fails, or what a GPU node has all the time, is no interruption.
  assert.ok(!is({ taints: ['node.kubernetes.io/not-ready:NoExecute', 'medik8s.io/remediation:NoExecute'] }));
  assert.ok(!is({ labels: { 'nvidia.com/gpu-driver-upgrade-state': 'upgrade-done' } }));
});

test('no two entries have the same kind and key', () => {
  const ids = TRANSIENT_STATES.map(({ what, key }) => `${what} ${key}`);
  assert.deepEqual(ids, [...new Set(ids)]);
});

test('accepts additional keys, exact or by domain', () => {
  const more = parseTransientKeys('example.com/boot, acme.io/*');
  assert.deepEqual(more, ['example.com/boot', 'acme.io/*']);
  for (const key of ['example.com/boot', 'acme.io/a']) assert.ok(isTransient('taint', key, more), key);
  for (const key of ['example.com/boots', 'acme.io', 'sub.acme.io/a']) assert.ok(!isTransient('taint', key, more), key);
});

test('refuses invalid keys, and patterns that could match every key', () => {
  for (const text of ['*', '/*', 'a*', '*/a', 'a/b/*', 'EXAMPLE.com/a', 'a b']) {
    assert.match(transientKeysProblem(text) ?? '', /write KEY or DOMAIN\/\*$/, text);
    assert.deepEqual(parseTransientKeys(text), [], text);
  }
  assert.equal(transientKeysProblem(Array.from({ length: 51 }, (_, at) => `k${at}`).join()), 'more than 50 keys');
  assert.equal(transientKeysProblem(''), undefined);
});

test('reads additional keys from a pool annotation, and ignores an invalid one', () => {
  const named = (text: string) => aPool({}, { annotations: { [TRANSIENT_KEYS_ANNOTATION]: text } });
  assert.deepEqual(transientKeysOf(named('acme.io/*')), ['acme.io/*']);
  assert.deepEqual(transientKeysOf(named('acme.io/*,*')), []);
  assert.deepEqual(transientKeysOf(aPool()), []);
  assert.deepEqual(transientKeysOf(undefined), []);
});

test('lists transient labels and taints of a spec, but not its startup taints', () => {
  const pool = aPool({
    labels: { 'nvidia.com/mig.config.state': 'success', tier: 'a' },
    taints: [taint('UpdateInProgress:NoSchedule'), taint('UpdateInProgress:NoExecute'), taint('dedicated:NoSchedule')],
    startupTaints: [taint('node.cilium.io/agent-not-ready:NoExecute')],
  });
  assert.deepEqual(
    transientKeysIn(pool, ['dedicated']).map(state => transientText(state)),
    [
      'the label nvidia.com/mig.config.state (NVIDIA GPU Operator sets it while the node is updated or under maintenance)',
      'the taint UpdateInProgress (Machine Config Operator sets it while the node is updated or under maintenance)',
      'the taint dedicated (other software sets it to describe a changing state)',
    ],
  );
});

test('reports an invalid annotation as an error of the pool with the field', () => {
  const pool = aPool({}, { annotations: { [TRANSIENT_KEYS_ANNOTATION]: 'acme.io/*,*' } });
  const [error] = validatePool(pool);
  assert.equal(error?.field, 'metadata.annotations[nodes.lailin.xyz/transient-keys]');
  assert.match(error?.message ?? '', /write KEY or DOMAIN/);
});
