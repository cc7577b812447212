/** Objects that show each state of the dashboard. */
import { role, type TestEnv } from './test-env.ts';

/** Two pools that conflict over a node, a cordoned node, a node that is not ready, and a node of no pool. */
export async function createSmallCluster(testEnv: TestEnv): Promise<void> {
  const gpu = { 'nvidia.com/gpu': '8' };
  await testEnv.nodes(
    { name: 'gpu-1', labels: { ...role('gpu'), ...role('spare') }, allocatable: gpu },
    { name: 'gpu-2', labels: role('gpu'), allocatable: gpu, unschedulable: true },
    { name: 'worker-1', labels: role('worker') },
    { name: 'worker-2', labels: role('worker'), ready: false },
    { name: 'worker-3', labels: role('worker') },
    { name: 'other' },
  );
  await testEnv.pool('gpu', { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] });
  await testEnv.pool('worker', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.pool('spare', {}, { younger: true });
  await testEnv.reconcile();
}
