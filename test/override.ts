/** The clients of a cluster with methods replaced, for tests that answer themselves or look on. */
import type { ClusterPort } from '../src/kube/cluster.ts';

export interface Overrides {
  nodes?: Partial<ClusterPort['nodes']>;
  pools?: Partial<ClusterPort['pools']>;
  runtimeClasses?: Partial<ClusterPort['runtimeClasses']>;
  revisions?: Partial<ClusterPort['revisions']>;
  createEvent?: ClusterPort['createEvent'];
  evictions?: ClusterPort['evictions'];
}

/** Keeps revisions, and has none. */
export const NO_HISTORY: ClusterPort['revisions'] = {
  list: async () => [],
  heads: async () => [],
  get: async () => undefined,
  create: async revision => ({ kind: 'created', revision }),
  update: async () => ({ kind: 'gone' }),
  delete: async () => 'gone',
};

export function override(
  cluster: ClusterPort,
  { nodes, pools, runtimeClasses, revisions, ...rest }: Overrides,
): ClusterPort {
  return {
    ...cluster,
    ...rest,
    nodes: { ...cluster.nodes, ...nodes },
    pools: { ...cluster.pools, ...pools },
    runtimeClasses: { ...cluster.runtimeClasses, ...runtimeClasses },
    revisions: { ...NO_HISTORY, ...cluster.revisions, ...revisions },
  };
}

type Call = (...args: unknown[]) => Promise<unknown>;

/** @param wrap gets each method by its name, as `pools.patchStatus` or `createEvent` */
export function wrapped(cluster: ClusterPort, wrap: (name: string, call: Call) => Call): ClusterPort {
  const all = (client: 'nodes' | 'pools' | 'runtimeClasses' | 'revisions') =>
    Object.fromEntries(
      Object.entries(cluster[client]).map(([name, call]) => [name, wrap(`${client}.${name}`, call as Call)]),
    );
  const createEvent = wrap('createEvent', cluster.createEvent as unknown as Call);
  return {
    // It sends no request.
    nodes: { ...all('nodes'), serverTime: cluster.nodes.serverTime },
    pools: all('pools'),
    runtimeClasses: all('runtimeClasses'),
    revisions: all('revisions'),
    createEvent,
    evictions: cluster.evictions,
  } as unknown as ClusterPort;
}
