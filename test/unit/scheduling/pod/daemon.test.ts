import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../src/nodepool/types.ts';
import { shouldRunOn } from '../../../../src/scheduling/pod/daemon.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { taint } from '../../nodepool/fixtures.ts';
import { site } from '../fixtures.ts';

const CASES: [string, RawPodSpec, Partial<Node>, boolean, boolean][] = [
  ['everywhere', {}, {}, true, true],
  [
    'on a cordoned node',
    {},
    { unschedulable: true, taints: [taint('node.kubernetes.io/unschedulable:NoSchedule')] },
    true,
    true,
  ],
  ['on a node that is not ready', {}, { taints: [taint('node.kubernetes.io/not-ready:NoExecute')] }, true, true],
  [
    'not on one that was not ready at start',
    {},
    { taints: [taint('node.kubernetes.io/not-ready:NoSchedule')] },
    false,
    true,
  ],
  ['without network', {}, { taints: [taint('node.kubernetes.io/network-unavailable:NoSchedule')] }, false, true],
  [
    'in the network of the host',
    { hostNetwork: true },
    { taints: [taint('node.kubernetes.io/network-unavailable:NoSchedule')] },
    true,
    true,
  ],
  ['elsewhere by name', { nodeName: 'n2' }, {}, false, false],
  ['by name', { nodeName: 'n1' }, {}, true, true],
  ['elsewhere by label', { nodeSelector: { disk: 'ssd' } }, {}, false, false],
  ['by label', { nodeSelector: { disk: 'ssd' } }, { labels: { disk: 'ssd' } }, true, true],
  ['NoSchedule lets it stay', {}, { taints: [taint('gpu:NoSchedule')] }, false, true],
  ['NoExecute does not', {}, { taints: [taint('gpu:NoExecute')] }, false, false],
  [
    'nor beside NoSchedule',
    { tolerations: [{ key: 'b', operator: 'Exists' }] },
    { taints: [taint('a:NoSchedule'), taint('b:NoExecute'), taint('c:NoExecute')] },
    false,
    false,
  ],
  [
    'tolerated NoExecute does',
    { tolerations: [{ key: 'b', operator: 'Exists' }] },
    { taints: [taint('a:NoSchedule'), taint('b:NoExecute')] },
    false,
    true,
  ],
  ['PreferNoSchedule', {}, { taints: [taint('gpu:PreferNoSchedule')] }, true, true],
];

for (const [name, template, node, shouldRun, shouldContinue] of CASES) {
  test(name, () => {
    assert.deepEqual(shouldRunOn(template, site('n1', node)), { shouldRun, shouldContinue });
  });
}
