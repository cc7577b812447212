/**
 * Counts the nodes of a rollout that are changed and not settled, at each event of a watch of its own, by the times at which
 * that watch saw the changes: not by those that the product wrote.
 */

import { follow } from '../../src/commands/shared/follow.ts';
import { systemClock } from '../../src/controller/clock.ts';
import { connect } from '../../src/kube/connect.ts';
import type { Node } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';

export interface Samples {
  /** Nodes with the new value. */
  changed(): number;
  /** At most changed and not settled, of all samples. */
  most(): number;
  count(): number;
  /** Changes of nodes that the watch saw. */
  writes(): number;
  /** Names of the changed nodes, as the watch saw them first. */
  order(): string[];
  /** Milliseconds between the changes of the last node of the canary and the next one. */
  afterCanary(canary: number): number;
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
  /** When the watch saw that the node was changed, and that it turned Ready. */
  const [changedAt, readyAt] = [new Map<string, number>(), new Map<string, number>()];
  const isChanged = ({ labels }: Node) => labels.tier === tier;
  const note = (node: Node) => {
    const [before, now] = [nodes.get(node.name), Date.now()];
    if (isChanged(node) && (before === undefined || !isChanged(before))) changedAt.set(node.name, now);
    if (node.ready && before?.ready === false) readyAt.set(node.name, now);
    nodes.set(node.name, node);
  };
  const sample = () => {
    const now = Date.now();
    const inFlight = [...nodes.values()].filter(node => {
      const since = Math.max(changedAt.get(node.name) ?? 0, readyAt.get(node.name) ?? 0);
      return isChanged(node) && changedAt.has(node.name) && (!node.ready || now - since < settleSeconds * 1000);
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
        note(node);
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
    order: () => [...changedAt.keys()],
    afterCanary: canary => {
      const times = [...changedAt.values()];
      return (times[canary] ?? 0) - (times[canary - 1] ?? 0);
    },
  };
}
