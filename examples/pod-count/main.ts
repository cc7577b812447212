/**
 * Counts the pods of the cluster: every 10 s their number becomes a label of each control-plane node, and each pod gets
 * an event with it. Counting sends no requests: the pods come from a cache.
 */
import { CoreV1Api } from '@kubernetes/client-node';
import { systemClock } from '../../src/controller/clock.ts';
import { Controller, type ReconcileResult } from '../../src/controller/controller.ts';
import { messageOf } from '../../src/controller/log.ts';
import { WorkQueue } from '../../src/controller/work-queue.ts';
import { MERGE_PATCH } from '../client-node.ts';
import { createRecorder, follow, type Metadata, open, run } from '../runtime.ts';

const LABEL = 'hopegi/pod-count';
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const PERIOD_MS = 10_000;
/** The only key. */
const ALL_PODS = 'all pods';

interface Pod {
  metadata: Metadata;
}

interface Node {
  metadata: Metadata & { labels?: Record<string, string> };
}

const runtime = open('pod-count');
const { connection, log } = runtime;
const api = connection.client(CoreV1Api);
const pods = follow<Pod>(runtime, '/api/v1/pods', ({ metadata: { name, namespace = '', uid, resourceVersion } }) => ({
  metadata: { name, namespace, uid, resourceVersion },
}));
const nodes = follow<Node>(runtime, '/api/v1/nodes', ({ metadata }) => ({ metadata }), {
  labelSelector: CONTROL_PLANE,
});
const recorder = createRecorder(runtime);
const queue = new WorkQueue({ clock: systemClock });

/** Labels the nodes; a node that fails is logged and labelled in the next pass. */
async function countPods(): Promise<ReconcileResult> {
  const start = systemClock.now();
  const found = [...pods.store.items()].map(({ object }) => object.metadata);
  const count = String(found.length);
  log('info', `counting: there are ${count} pods`);
  for (const { name, namespace } of found) log('debug', `pod ${namespace}/${name}`);
  for (const { object } of [...nodes.store.items()]) {
    const { name, labels } = object.metadata;
    if (labels?.[LABEL] === count) continue;
    await label(name, count).catch((error: unknown) => log('error', `node ${name}: ${messageOf(error)}`));
  }
  for (const { name, namespace = '', uid } of found) {
    recorder.event({
      regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
      type: 'Normal',
      reason: 'SuccessCalculatePod',
      action: 'CountPods',
      note: `pod count is ${count}`,
    });
  }
  return { kind: 'requeueAfter', ms: PERIOD_MS - (systemClock.now() - start) };
}

async function label(node: string, count: string): Promise<void> {
  // The patch has only the label, and keeps what others change on the node.
  const body = { metadata: { labels: { [LABEL]: count } } };
  await api.patchNode({ name: node, body }, MERGE_PATCH);
  log('info', `node ${node}: ${LABEL}=${count}`);
}

queue.add(ALL_PODS);
const controller = new Controller({
  name: 'pod-count',
  queue,
  workers: 1,
  reconcile: countPods,
  clock: systemClock,
  log,
});
await run(runtime, { caches: [pods, nodes], controllers: [controller], recorder });
