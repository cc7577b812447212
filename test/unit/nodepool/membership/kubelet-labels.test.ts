import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isKubeletSettable,
  kubeletRegistrationText,
  kubeletRisk,
  kubeletRiskText,
} from '../../../../src/nodepool/membership/kubelet-labels.ts';
import type { NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aPool } from '../fixtures.ts';

/** test/e2e/compromised-kubelet.test.ts checks the same on a real server. */
test('recognises the labels that NodeRestriction lets a kubelet set', () => {
  for (const key of ['plain', 'example.com/x', 'kubernetes.io/os', 'a.kubelet.kubernetes.io/x', 'notkubernetes.io/x'])
    assert.equal(isKubeletSettable(key), true, key);
  for (const key of ['kubernetes.io/x', 'node-role.kubernetes.io/x', 'a.node-restriction.kubernetes.io/x', 'k8s.io/x'])
    assert.equal(isKubeletSettable(key), false, key);
});

const expression = (key: string, operator: string, ...values: string[]) => ({ key, operator, values });
const ROLE_KEY = 'node-role.kubernetes.io/x';
const ROLE = { 'node-role.kubernetes.io/x': '' };
const RESTRICTED = { 'node-restriction.kubernetes.io/x': '', 'example.com/y': '' };
const TAINTS = [{ key: 'a', effect: 'NoSchedule' as const }];

const cases: [string, NodePoolSpec, [string[], boolean] | undefined][] = [
  ['the default selector has no risk', { labels: RESTRICTED, taints: TAINTS }, undefined],
  ['labels that a kubelet may set itself are no risk', { nodeSelector: { a: 'b' }, labels: { c: 'd' } }, undefined],
  [
    'a kubelet that can join gets restricted labels',
    { nodeSelector: { a: 'b' }, labels: RESTRICTED },
    [['node-restriction.kubernetes.io/x'], false],
  ],
  ['a kubelet that can leave loses taints', { nodeSelector: { a: 'b' }, taints: TAINTS }, [[], true]],
  [
    'one restricted label keeps a kubelet from joining',
    { nodeSelector: { a: 'b', ...ROLE }, labels: RESTRICTED },
    undefined,
  ],
  [
    'one restricted label does not keep a kubelet from leaving',
    { nodeSelector: { a: 'b', ...ROLE }, labels: RESTRICTED, taints: TAINTS },
    [[], true],
  ],
  [
    'a selector with only restricted labels has no risk',
    { nodeSelector: ROLE, labels: RESTRICTED, taints: TAINTS },
    undefined,
  ],
  ['an empty selector, which matches no node, has no risk', { nodeSelector: {}, labels: RESTRICTED }, undefined],
  [
    'a kubelet can join by expressions on its own labels',
    { matchExpressions: [expression('a', 'Gt', '4'), expression('b', 'NotIn', 'c')], labels: RESTRICTED },
    [['node-restriction.kubernetes.io/x'], false],
  ],
  [
    'an expression on a restricted label keeps a kubelet from joining',
    { nodeSelector: { a: 'b' }, matchExpressions: [expression(ROLE_KEY, 'Exists')], labels: RESTRICTED },
    undefined,
  ],
  [
    'the required absence of a restricted label does not keep a kubelet from joining',
    { matchExpressions: [expression(ROLE_KEY, 'DoesNotExist')], labels: RESTRICTED, taints: TAINTS },
    [['node-restriction.kubernetes.io/x'], false],
  ],
  [
    'a kubelet can leave by setting a label that members must not have',
    { matchExpressions: [expression('spot', 'DoesNotExist')], taints: TAINTS },
    [[], true],
  ],
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
  const closed = aPool({ nodeSelector: { b: '', a: '' }, labels: { ...other, ...RESTRICTED } });
  assert.equal(
    kubeletRegistrationText(kubeletRisk(closed) ?? assert.fail(), closed),
    "selects by a, b and sets node-restriction.kubernetes.io/x: the admission policy refuses new nodes that register with the pool's membership labels",
  );
  const tainted = aPool({ nodeSelector: { a: 'b' }, taints: TAINTS });
  assert.equal(kubeletRegistrationText(kubeletRisk(tainted) ?? assert.fail(), tainted), undefined);
  const absent = { matchExpressions: [expression(ROLE_KEY, 'DoesNotExist')], labels: RESTRICTED };
  assert.equal(canRegister({ ...absent, nodeSelector: { a: 'b' } }), false);
  const all = aPool(absent);
  assert.equal(kubeletRisk(all)?.canRegister, true, 'else no node could register');
  assert.equal(
    kubeletRiskText(kubeletRisk(all) ?? assert.fail()),
    'selects nodes without a label; kubelets can register a new node and so get node-restriction.kubernetes.io/x',
  );
  assert.equal(
    kubeletRegistrationText(kubeletRisk(all) ?? assert.fail(), all),
    'selects nodes without a label; kubelets that register a new node get the label node-restriction.kubernetes.io/x',
  );
  const pool = aPool({ nodeSelector: { a: 'b' }, labels: other, taints: TAINTS });
  assert.equal(
    kubeletRegistrationText(kubeletRisk(pool) ?? assert.fail(), pool),
    'selects by a; kubelets that register a new node get the labels node-role.kubernetes.io/ingress, x.k8s.io/y, and the taint a:NoSchedule',
  );
});

const CLASS_RISK =
  'has a RuntimeClass that selects by nodes.lailin.xyz/pool; kubelets can set these labels on their own node and so attract its pods';
const big = [expression(ROLE_KEY, 'Exists')];
for (const [title, spec, want] of [
  ['attracts pods to a kubelet by one label', { matchExpressions: big }, CLASS_RISK],
  [
    'attracts pods to a kubelet by several labels',
    { matchExpressions: big, nodeSelector: { size: 'b' }, labels: { a: '' } },
    CLASS_RISK.replace('by ', 'by a, ').replace('pool;', 'pool, size;'),
  ],
  ['has no risk if it selects by a role', { matchExpressions: big, nodeSelector: ROLE }, undefined],
  [
    'has no risk if it selects by a restricted label of the pool',
    { matchExpressions: big, labels: RESTRICTED },
    undefined,
  ],
  ['has no risk without expressions', { nodeSelector: { size: 'b' } }, undefined],
  ['has no risk without a handler', { matchExpressions: big, handler: '' }, undefined],
] as const) {
  test(`the RuntimeClass of a pool ${title}`, () => {
    const pool = { handler: 'runc', ...spec } as NodePoolSpec;
    const risk = kubeletRisk(aPool(pool));
    assert.equal(risk && kubeletRiskText(risk), want);
    assert.equal(risk?.canRegister ?? false, false);
    assert.equal(
      kubeletRisk(aPool(pool, { annotations: { 'nodes.lailin.xyz/kubelet-membership': 'Allow' } })),
      undefined,
    );
  });
}

test('names what members gain and what the RuntimeClass exposes', () => {
  const spec = { matchExpressions: [expression('a', 'Exists')], handler: 'runc', taints: TAINTS };
  assert.equal(
    kubeletRiskText(kubeletRisk(aPool(spec)) ?? assert.fail()),
    `selects by a; kubelets can change this label on their own node and so leave the pool and its taints, and ${CLASS_RISK}`,
  );
});

test('names the labels and what a kubelet would gain', () => {
  const risk = kubeletRisk(aPool({ nodeSelector: { b: '', a: '' }, labels: RESTRICTED, taints: TAINTS }));
  assert.equal(
    risk && kubeletRiskText(risk),
    'selects by a, b; kubelets can change these labels on their own node and so get node-restriction.kubernetes.io/x and leave the pool and its taints',
  );
});
