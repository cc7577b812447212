/**
 * The pattern of every controller: a cache, a queue of keys, workers. It reconciles Count objects; what that
 * would mean is left open here, as in any skeleton: the two places for it are marked by their log lines.
 */
import { CustomObjectsApi } from '@kubernetes/client-node';
import { systemClock } from '../../src/controller/clock.ts';
import { Controller, type ReconcileResult } from '../../src/controller/controller.ts';
import { WorkQueue } from '../../src/controller/work-queue.ts';
import { MERGE_PATCH } from '../client-node.ts';
import { createRecorder, follow, type Metadata, open, run } from '../runtime.ts';

const WORKERS = 2;
const COUNTS = { group: 'demo.mark8s.io', version: 'v1', plural: 'counts' };

interface Count {
  metadata: Metadata;
  spec: { name: string; count: number };
  status?: { healthy?: boolean; observedGeneration?: number };
}

const runtime = open('count-controller');
const { connection, log } = runtime;
const api = connection.client(CustomObjectsApi);
const counts = follow<Count>(runtime, '/apis/demo.mark8s.io/v1/counts', ({ metadata, spec, status }) => ({
  metadata,
  spec,
  ...(status === undefined ? {} : { status }),
}));
const queue = new WorkQueue({ clock: systemClock });
const recorder = createRecorder(runtime);

counts.subscribe(event => {
  const { key } = event.type === 'deleted' ? event.tombstone.item : event.item;
  log('debug', `${event.type}: ${key} enters the queue`);
  queue.add(key);
});

/** Level-based: reads the state, not the event; an object that is missing in the cache was deleted. */
async function sync(key: string): Promise<ReconcileResult> {
  const count = counts.store.get(key)?.object;
  if (count === undefined) {
    log('info', `${key} is deleted: what there is of it would be removed here`);
    return { kind: 'done' };
  }
  const { spec, status, metadata } = count;
  log(
    'debug',
    `${key}: wanted are ${spec.count} of ${spec.name}; the last status is ${JSON.stringify(status ?? null)}`,
  );
  if (status?.healthy === true && status.observedGeneration === metadata.generation) return { kind: 'done' };
  log('info', `${key}: what there is would be compared with ${spec.count} of ${spec.name} here, and brought to it`);
  return write(count);
}

/**
 * Reports in the status and by an event that this generation is done. The server refuses it after another write
 * or a delete: then the key is queued again and reconciled with the cache's new state.
 */
async function write({ metadata }: Count): Promise<ReconcileResult> {
  const { name, namespace = '', uid, generation, resourceVersion } = metadata;
  const body = { metadata: { resourceVersion }, status: { healthy: true, observedGeneration: generation } };
  await api.patchNamespacedCustomObjectStatus({ ...COUNTS, namespace, name, body }, MERGE_PATCH);
  recorder.event({
    regarding: { apiVersion: 'demo.mark8s.io/v1', kind: 'Count', namespace, name, uid },
    type: 'Normal',
    reason: 'Synced',
    action: 'Sync',
    note: 'Count synced successfully',
  });
  return { kind: 'done' };
}

const controller = new Controller({ name: 'count', queue, workers: WORKERS, reconcile: sync, clock: systemClock, log });
await run(runtime, { caches: [counts], controllers: [controller], recorder });
