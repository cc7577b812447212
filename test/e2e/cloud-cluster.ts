/** Two pools of 18 nodes each, with names as on EKS and GKE, and the other objects that the screens show. */
import { EKS, GKE } from '../cloud-names.ts';
import type { NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { container, deletePods } from './many-pods.ts';
import { role, type TestEnv } from './test-env.ts';

/** Of the first node. */
const PODS = ['web-6d4cf56db6-2xkvp', 'web-6d4cf56db6-9lqhz'];
const TAINT = { key: 'dedicated', value: 'payments', effect: 'NoSchedule' } as const;

/** Of EKS in pool frontend, of GKE in pool backend: one cordoned, one not ready. */
export async function createCloudCluster(testEnv: TestEnv): Promise<void> {
  await testEnv.nodes(...EKS.map(nodeOf('frontend', 'eu-west-1')), ...GKE.map(nodeOf('backend', 'europe-west4')));
  await testEnv.pool('frontend', { labels: { tier: 'web' } });
  await testEnv.pool('backend', { labels: { tier: 'db' }, taints: [TAINT] });
  await testEnv.reconcile();
  const spec = { nodeName: EKS[0], containers: [container('c', { cpu: '500m', memory: '256Mi' })] };
  await deletePods(testEnv.cluster());
  for (const name of PODS) {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    await raw(testEnv.cluster()).expect('POST', '/api/v1/namespaces/default/pods', pod);
  }
}

function nodeOf(pool: string, region: string): (name: string, i: number) => NodeSpec {
  return (name, i) => ({
    name,
    labels: {
      ...role(pool),
      'topology.kubernetes.io/region': region,
      'topology.kubernetes.io/zone': `${region}${'abc'[i % 3]}`,
      'node.kubernetes.io/instance-type': 'm5.2xlarge',
    },
    unschedulable: i === 3,
    ready: i !== 4,
  });
}
