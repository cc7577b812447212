import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../src/nodepool/types.ts';
import { shouldRunOn } from '../../../../src/scheduling/pod/daemon.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { taint } from '../../nodepool/fixtures.ts';
import { site } from '../fixtures.ts';

const CASES: [string, RawPodSpec, Partial<Node>, boolean, boolean][] = [
  ['a DaemonSet without rules runs on every node', {}, {}, true, true],
  [
    'runs on a cordoned node',
    {},
    { unschedulable: true, taints: [taint('node.kubernetes.io/unschedulable:NoSchedule')] },
    true,
    true,
  ],
  [
    'runs on a node that turned NotReady',
    {},
    { taints: [taint('node.kubernetes.io/not-ready:NoExecute')] },
    true,
    true,
  ],
  [
    'does not start on a node that was never Ready, but a running pod stays',
    {},
    { taints: [taint('node.kubernetes.io/not-ready:NoSchedule')] },
    false,
    true,
  ],
  [
    'does not start on a node without network, but a running pod stays',
    {},
    { taints: [taint('node.kubernetes.io/network-unavailable:NoSchedule')] },
    false,
    true,
  ],
  [
    'starts on a node without network if it uses the host network',
    { hostNetwork: true },
    { taints: [taint('node.kubernetes.io/network-unavailable:NoSchedule')] },
    true,
    true,
  ],
  ['does not run where nodeName names another node', { nodeName: 'n2' }, {}, false, false],
  ['runs where nodeName names the node', { nodeName: 'n1' }, {}, true, true],
  ['does not run where nodeSelector does not match', { nodeSelector: { disk: 'ssd' } }, {}, false, false],
  ['runs where nodeSelector matches', { nodeSelector: { disk: 'ssd' } }, { labels: { disk: 'ssd' } }, true, true],
  [
    'a NoSchedule taint keeps new pods away, and a running pod stays',
    {},
    { taints: [taint('gpu:NoSchedule')] },
    false,
    true,
  ],
  [
    'a NoExecute taint keeps new pods away, and evicts a running pod',
    {},
    { taints: [taint('gpu:NoExecute')] },
    false,
    false,
  ],
  [
    'one NoExecute taint that is not tolerated is enough to evict a running pod',
    { tolerations: [{ key: 'b', operator: 'Exists' }] },
    { taints: [taint('a:NoSchedule'), taint('b:NoExecute'), taint('c:NoExecute')] },
    false,
    false,
  ],
  [
    'a running pod stays if it tolerates all NoExecute taints',
    { tolerations: [{ key: 'b', operator: 'Exists' }] },
    { taints: [taint('a:NoSchedule'), taint('b:NoExecute')] },
    false,
    true,
  ],
  ['a PreferNoSchedule taint keeps no pod away', {}, { taints: [taint('gpu:PreferNoSchedule')] }, true, true],
];

for (const [name, template, node, shouldRun, shouldContinue] of CASES) {
  test(name, () => {
    assert.deepEqual(shouldRunOn(template, site('n1', node)), { shouldRun, shouldContinue });
  });
}
