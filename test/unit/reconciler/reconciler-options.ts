/** What the parts of the reconciler need in every test. */

import type { ClusterPort } from '../../../src/kube/cluster.ts';
import type { ReconcilerOptions } from '../../../src/reconciler/options.ts';
import type { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { FakeClock } from '../controller/fake-clock.ts';

/** No limit, and no wait takes time; `more` replaces that. */
export function reconcilerOptions(
  cluster: ClusterPort,
  state: ClusterState,
  more: Partial<ReconcilerOptions> = {},
): ReconcilerOptions {
  return {
    cluster,
    state,
    limitObjects: work => work(),
    sleep: async () => {},
    clock: new FakeClock(),
    now: () => new Date(),
    ...more,
  };
}
