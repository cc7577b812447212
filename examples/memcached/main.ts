/**
 * An operator: each Memcached object owns a Deployment of its name, which it scales, and lists its pods
 * in its status. The cluster's garbage collector deletes the Deployment of a deleted Memcached.
 */
import { isDeepStrictEqual } from 'node:util';
import { AppsV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import { systemClock } from '../../src/controller/clock.ts';
import { Controller, type ReconcileResult } from '../../src/controller/controller.ts';
import { WorkQueue } from '../../src/controller/work-queue.ts';
import { MERGE_PATCH } from '../client-node.ts';
import { follow, open, run } from '../runtime.ts';
import { type Deployment, deploymentFor, MEMCACHEDS, type Memcached, ownerOf, type Pod, SELECTOR } from './objects.ts';

const WORKERS = 2;
/** After a write, as pods need time to start; their events may come sooner. */
const LOOK_AGAIN_MS = 60_000;
const OURS = { labelSelector: SELECTOR };

const runtime = open('memcached-controller');
const { connection, log } = runtime;
const apps = connection.client(AppsV1Api);
const customObjects = connection.client(CustomObjectsApi);
const memcacheds = follow<Memcached>(
  runtime,
  '/apis/cache.example.com/v1alpha1/memcacheds',
  ({ metadata, spec, status }) => ({
    metadata,
    spec,
    ...(status === undefined ? {} : { status }),
  }),
);
const deployments = follow<Deployment>(
  runtime,
  '/apis/apps/v1/deployments',
  ({ metadata, spec: { replicas = 1 } }) => ({ metadata, spec: { replicas } }),
  OURS,
);
const pods = follow<Pod>(runtime, '/api/v1/pods', ({ metadata }) => ({ metadata }), OURS, {
  owner: pod => [ownerOf(pod)],
});
const queue = new WorkQueue({ clock: systemClock });

// A Deployment has the name of its Memcached; a pod names it in a label, which may have changed.
for (const cache of [memcacheds, deployments]) {
  cache.subscribe(event => queue.add(event.type === 'deleted' ? event.tombstone.item.key : event.item.key));
}
pods.subscribe(event => {
  if (event.type === 'updated') queue.add(ownerOf(event.old.object));
  queue.add(ownerOf(event.type === 'deleted' ? event.tombstone.item.object : event.item.object));
});

async function reconcile(key: string): Promise<ReconcileResult> {
  const memcached = memcacheds.store.get(key)?.object;
  if (memcached === undefined || memcached.metadata.deletionTimestamp !== undefined) return { kind: 'done' };
  const deployment = deployments.store.get(key)?.object;
  if (deployment === undefined) return create(key, memcached);
  if (!deployment.metadata.ownerReferences?.some(({ uid }) => uid === memcached.metadata.uid)) {
    return { kind: 'error', error: new Error('the Deployment of this name belongs to somebody else') };
  }
  if (deployment.spec.replicas !== memcached.spec.size) return scale(key, memcached, deployment);
  return writeStatus(key, memcached);
}

// A refusal is thrown: the key is retried later, with the state that the caches then have.

async function create(key: string, memcached: Memcached): Promise<ReconcileResult> {
  const { namespace = '' } = memcached.metadata;
  await apps.createNamespacedDeployment({ namespace, body: deploymentFor(memcached) });
  log('info', `${key}: Deployment created`);
  return { kind: 'requeueAfter', ms: LOOK_AGAIN_MS };
}

async function scale(key: string, { spec }: Memcached, { metadata }: Deployment): Promise<ReconcileResult> {
  const { name, namespace = '', uid } = metadata;
  const body = { metadata: { uid }, spec: { replicas: spec.size } };
  await apps.patchNamespacedDeployment({ name, namespace, body }, MERGE_PATCH);
  log('info', `${key}: Deployment scaled to ${spec.size}`);
  return { kind: 'requeueAfter', ms: LOOK_AGAIN_MS };
}

async function writeStatus(key: string, { metadata, status }: Memcached): Promise<ReconcileResult> {
  const { name, namespace = '', uid } = metadata;
  const alive = pods.store.byIndex('owner', key).filter(({ object }) => !object.metadata.deletionTimestamp);
  const nodes = alive.map(({ object }) => object.metadata.name).sort();
  if (isDeepStrictEqual(nodes, status?.nodes)) return { kind: 'done' };
  const body = { metadata: { uid }, status: { nodes } };
  await customObjects.patchNamespacedCustomObjectStatus({ ...MEMCACHEDS, namespace, name, body }, MERGE_PATCH);
  log('info', `${key}: the status names ${nodes.length} pods`);
  return { kind: 'done' };
}

const controller = new Controller({ name: 'memcached', queue, workers: WORKERS, reconcile, clock: systemClock, log });
await run(runtime, { caches: [memcacheds, deployments, pods], controllers: [controller] });
