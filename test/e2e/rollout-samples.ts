/** Counts the nodes of a rollout that are changed and not settled, at each event of a watch of its own. */

import { systemClock } from '../../src/controller/clock.ts';
import { connect } from '../../src/kube/connect.ts';
import { parseRecord } from '../../src/nodepool/record.ts';
import type { Node } from '../../src/nodepool/types.ts';
import { follow } from '../../src/operations/follow.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';

export interface Samples {
  /** Nodes with the new value. */
  changed(): number;
  /** At most changed and not settled, of all samples. */
  most(): number;
  count(): number;
  /** Changes of nodes that the watch saw. */
  writes(): number;
}

/** @param tier the value of the label `tier` that is rolled out */
export async function sampleRollout(
  t: { after(fn: () => unknown): void },
  { kubeconfig }: ControlPlane,
  tier: string,
  settleSeconds: number,
): Promise<Samples> {
  const connection = await connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0-test' });
  const ended = new AbortController();
  const nodes = new Map<string, Node>();
  let [most, count, writes] = [0, 0, 0];
  const isChanged = ({ labels }: Node) => labels.tier === tier;
  const sample = () => {
    const now = Date.now();
    const inFlight = [...nodes.values()].filter(node => {
      const changed = parseRecord(node.record)?.changed;
      return (
        isChanged(node) && changed !== undefined && (!node.ready || now - Date.parse(changed) < settleSeconds * 1000)
      );
    });
    count++;
    most = Math.max(most, inFlight.length);
  };
  const started = Promise.withResolvers<void>();
  const following = follow<Node>(
    {
      resource: 'nodes',
      watched: connection.cluster.nodes.watch(),
      onStart(found) {
        for (const node of found) nodes.set(node.name, node);
        started.resolve();
      },
      onChanged(node) {
        if (nodes.get(node.name)?.resourceVersion !== node.resourceVersion) writes++;
        nodes.set(node.name, node);
        sample();
      },
      onDeleted: ({ name }) => void nodes.delete(name),
      signal: ended.signal,
    },
    { clock: systemClock, random: Math.random, log: () => {} },
  );
  t.after(async () => {
    ended.abort();
    await following;
    connection.close();
  });
  await started.promise;
  return {
    changed: () => [...nodes.values()].filter(isChanged).length,
    most: () => most,
    count: () => count,
    writes: () => writes,
  };
}
