import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOfOthers } from '../../../../src/nodepool/membership/member-labels.ts';
import { taint } from '../fixtures.ts';

test('finds labels and taints that belong to a cloud or a provisioner', () => {
  const labels = {
    tier: 'gold',
    agentpool: 'a',
    'my.agentpool': 'a',
    'karpenter.sh/capacity-type': 'spot',
    'notkarpenter.sh/x': '',
    'node.kubernetes.azure.com/x': '',
    'cloud.google.com/gke-spot': 'true',
    'node.cluster.x-k8s.io/x': '',
    'node-role.kubernetes.io/web': '',
  };
  const taints = [taint('karpenter.sh/disrupted:NoSchedule'), taint('dedicated=x:NoSchedule')];
  assert.deepEqual(
    keysOfOthers({ labels, taints }).map(({ provider, key }) => `${provider} ${key}`),
    [
      'AKS agentpool',
      'GKE cloud.google.com/gke-spot',
      'Karpenter karpenter.sh/capacity-type',
      'Karpenter karpenter.sh/disrupted',
      'Cluster API node.cluster.x-k8s.io/x',
      'AKS node.kubernetes.azure.com/x',
    ],
  );
  const startup = keysOfOthers({ startupTaints: [taint('karpenter.sh/x:NoSchedule'), taint('agent:NoSchedule')] });
  assert.deepEqual(startup, [{ provider: 'Karpenter', key: 'karpenter.sh/x' }]);
  assert.deepEqual(keysOfOthers({ nodeSelector: { 'karpenter.sh/nodepool': 'a' } }), []);
});
