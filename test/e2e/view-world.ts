/** A small cluster in which the dashboard has something of everything to show. */
import { role, type World } from './world.ts';

/** Two pools that fight for a node, one that is cordoned, one that is not ready, one in no pool. */
export async function smallCluster(world: World): Promise<void> {
  const gpu = { 'nvidia.com/gpu': '8' };
  await world.nodes(
    { name: 'gpu-1', labels: { ...role('gpu'), ...role('spare') }, allocatable: gpu },
    { name: 'gpu-2', labels: role('gpu'), allocatable: gpu, unschedulable: true },
    { name: 'worker-1', labels: role('worker') },
    { name: 'worker-2', labels: role('worker'), ready: false },
    { name: 'worker-3', labels: role('worker') },
    { name: 'other' },
  );
  await world.pool('gpu', { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] });
  await world.pool('worker', { labels: { tier: 'gold' } });
  await world.reconcile();
  await world.pool('spare', {}, { younger: true });
  await world.reconcile();
}
