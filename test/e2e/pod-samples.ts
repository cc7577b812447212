/** Counts the healthy pods of each app after every change of a pod, as the server's watch reports it, by the rules of budgets. */
import { get } from 'node:https';
import { createInterface } from 'node:readline';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

interface Pod {
  metadata: { uid: string; labels?: { app?: string }; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { phase?: string; conditions?: { type: string; status: string }[] };
}

export interface PodSamples {
  /** The fewest healthy pods of each app since the start, or since reset(). */
  fewest(): ReadonlyMap<string, number>;
  reset(): void;
  /** Samples since the start. */
  count(): number;
  /** Pods that are on these nodes now. */
  on(isNode: (name: string) => boolean): number;
}

/** Call it while all pods are healthy. The watch ends with the test. */
export async function samplePods(
  t: { after(fn: () => unknown): void },
  { server, ca, admin }: ControlPlane,
): Promise<PodSamples> {
  const list = (await raw({ server, ca, admin }).expect('GET', '/api/v1/pods')) as {
    metadata: { resourceVersion: string };
    items: Pod[];
  };
  const pods = new Map(list.items.map(pod => [pod.metadata.uid, pod]));
  const healthy = new Map<string, Set<string>>();
  const least = new Map<string, number>();
  let count = 0;
  const see = (pod: Pod, isGone: boolean) => {
    const { uid, labels, deletionTimestamp } = pod.metadata;
    const app = labels?.app ?? '';
    const ofApp = healthy.get(app) ?? new Set();
    const isReady = pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    if (isReady && !isGone && deletionTimestamp === undefined) ofApp.add(uid);
    else ofApp.delete(uid);
    healthy.set(app, ofApp);
    if (isGone) pods.delete(uid);
    else pods.set(uid, pod);
  };
  const reset = () => {
    for (const [app, { size }] of healthy) least.set(app, size);
  };
  for (const pod of list.items) see(pod, false);
  reset();
  const path = `/api/v1/pods?watch=true&timeoutSeconds=3600&resourceVersion=${list.metadata.resourceVersion}`;
  let error: unknown;
  const request = get(new URL(path, server), { ca, ...admin }, async response => {
    try {
      for await (const line of createInterface({ input: response })) {
        const { type, object } = JSON.parse(line);
        if (type === 'ERROR') throw new Error(`the watch of the test: ${line}`);
        see(object, type === 'DELETED');
        count++;
        for (const [app, { size }] of healthy) least.set(app, Math.min(size, least.get(app) ?? size));
      }
    } catch (reason) {
      error = reason;
    }
  });
  request.on('error', reason => {
    error = reason;
  });
  t.after(() => request.destroy());
  const assertRuns = () => {
    if (error !== undefined) throw error;
  };
  return {
    fewest() {
      assertRuns();
      return least;
    },
    reset,
    count: () => count,
    on: isNode => [...pods.values()].filter(({ spec }) => isNode(spec.nodeName ?? '')).length,
  };
}
