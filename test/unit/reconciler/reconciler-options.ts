/** The parts of the reconciler, and what they need in every test. */

import type { ClusterPort } from '../../../src/kube/cluster.ts';
import { WriteRateLimiter } from '../../../src/reconciler/limits/rate-limiters.ts';
import type { WriterOptions } from '../../../src/reconciler/options.ts';
import { Reconciler } from '../../../src/reconciler/reconciler.ts';
import type { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { type NodeOutcome, NodeWriter } from '../../../src/reconciler/write/node-writer.ts';
import { NO_HISTORY } from '../../override.ts';
import { FakeClock } from '../controller/fake-clock.ts';

/** Any number of objects at once, and no wait takes time; `more` replaces that. */
export function reconcilerOptions(
  cluster: ClusterPort,
  state: ClusterState,
  more: Partial<WriterOptions> = {},
): WriterOptions {
  const clock = more.clock ?? new FakeClock();
  cluster.revisions ??= NO_HISTORY;
  return {
    cluster,
    state,
    limitObjects: work => work(),
    sleep: async () => {},
    clock,
    writeLimiter: new WriteRateLimiter(clock),
    now: () => new Date(),
    ...more,
  };
}

export function aNodeWriter(cluster: ClusterPort, state: ClusterState, more: Partial<WriterOptions> = {}): NodeWriter {
  return new NodeWriter(reconcilerOptions(cluster, state, more));
}

export function aReconciler(cluster: ClusterPort, state: ClusterState, more: Partial<WriterOptions> = {}): Reconciler {
  return new Reconciler(reconcilerOptions(cluster, state, more));
}

export function emptyNodeOutcome(): NodeOutcome {
  return { moves: [], failures: [], unwritten: 0 };
}
