/** Logs pools that no node matches, each once while its spec stays as it is: an autoscaler may take all nodes every night. */
import type { Log } from '../../controller/log.ts';
import { warningText } from '../../nodepool/warning.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { emptyPoolWarnings } from '../no-match.ts';

/** To be called after a reconcile of the pool. */
export function noMatchLog(
  state: Pick<ClusterState, 'pool' | 'members' | 'lost' | 'isStaying' | 'nodes'>,
  log: Log,
): (pool: string) => void {
  /** Generations, by pool. */
  const said = new Map<string, number | undefined>();
  return name => {
    const pool = state.pool(name);
    if (pool === undefined) {
      said.delete(name);
      return;
    }
    const { generation } = pool.metadata;
    if (said.has(name) && said.get(name) === generation) return;
    for (const warning of emptyPoolWarnings(state, [name])) {
      // No warning: a pool may be there before its nodes.
      log('info', warningText(warning), { pool: name });
      said.set(name, generation);
    }
  };
}
