import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isKubeletSettable,
  kubeletRegistrationText,
  kubeletRisk,
  kubeletRiskText,
} from '../../../src/nodepool/kubelet-labels.ts';
import type { NodePoolSpec } from '../../../src/nodepool/types.ts';
import { aPool } from './fixtures.ts';

/** test/e2e/compromised-kubelet.test.ts checks the same on a real server. */
test('recognises the labels that NodeRestriction lets a kubelet set', () => {
  for (const key of ['plain', 'example.com/x', 'kubernetes.io/os', 'a.kubelet.kubernetes.io/x', 'notkubernetes.io/x'])
    assert.equal(isKubeletSettable(key), true, key);
  for (const key of ['kubernetes.io/x', 'node-role.kubernetes.io/x', 'a.node-restriction.kubernetes.io/x', 'k8s.io/x'])
    assert.equal(isKubeletSettable(key), false, key);
});

const ROLE = { 'node-role.kubernetes.io/x': '' };
const RESTRICTED = { 'node-restriction.kubernetes.io/x': '', 'example.com/y': '' };
const TAINTS = [{ key: 'a', effect: 'NoSchedule' as const }];

const cases: [string, NodePoolSpec, [string[], boolean] | undefined][] = [
  ['the default selector gives nothing away', { labels: RESTRICTED, taints: TAINTS }, undefined],
  ['nor do labels that a kubelet could set itself', { nodeSelector: { a: 'b' }, labels: { c: 'd' } }, undefined],
  [
    'who can join gets restricted labels',
    { nodeSelector: { a: 'b' }, labels: RESTRICTED },
    [['node-restriction.kubernetes.io/x'], false],
  ],
  ['who can leave loses taints', { nodeSelector: { a: 'b' }, taints: TAINTS }, [[], true]],
  [
    'one label out of reach keeps it from joining',
    { nodeSelector: { a: 'b', ...ROLE }, labels: RESTRICTED },
    undefined,
  ],
  ['but not from leaving', { nodeSelector: { a: 'b', ...ROLE }, labels: RESTRICTED, taints: TAINTS }, [[], true]],
  ['only labels out of reach', { nodeSelector: ROLE, labels: RESTRICTED, taints: TAINTS }, undefined],
];
for (const [title, spec, want] of cases) {
  test(`risk: ${title}`, () => {
    const risk = kubeletRisk(aPool(spec));
    assert.deepEqual(risk && [risk.gains, risk.shedsTaints], want);
    const annotations = { 'nodes.lailin.xyz/kubelet-membership': 'Allow' };
    assert.equal(kubeletRisk(aPool(spec, { annotations })), undefined);
  });
}

test('under the admission policy a kubelet can register with cluster labels, but not with node-restriction labels', () => {
  const canRegister = (spec: NodePoolSpec) => kubeletRisk(aPool({ nodeSelector: { a: 'b' }, ...spec }))?.canRegister;
  const other = { 'node-role.kubernetes.io/ingress': '', 'x.k8s.io/y': '' };
  assert.equal(canRegister({ labels: other }), true);
  assert.equal(canRegister({ labels: { ...other, 'a.node-restriction.kubernetes.io/x': '' } }), false);
  assert.equal(canRegister({ labels: RESTRICTED }), false);
  assert.equal(canRegister({ taints: TAINTS }), false);
  const pool = aPool({ nodeSelector: { a: 'b' }, labels: other, taints: TAINTS });
  assert.equal(
    kubeletRegistrationText(kubeletRisk(pool) ?? assert.fail(), pool),
    'selects by a, with which a kubelet may register a new node: it gets the labels node-role.kubernetes.io/ingress, x.k8s.io/y, and the taint a:NoSchedule',
  );
});

test('names the labels and what a kubelet would gain', () => {
  const risk = kubeletRisk(aPool({ nodeSelector: { b: '', a: '' }, labels: RESTRICTED, taints: TAINTS }));
  assert.equal(
    risk && kubeletRiskText(risk),
    'selects by a, b, which a kubelet may set on its own node to get node-restriction.kubernetes.io/x and lose the taints of the pool',
  );
});
