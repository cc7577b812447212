/** ClusterPort: what the reconciler asks of a cluster. */
import { hostname } from 'node:os';
import type { ClusterPort } from '../../reconciler/ports.ts';
import { type Api, dryRunQuery } from './api.ts';
import { createEvent, toEvent } from './events.ts';
import { FIELD_MANAGER } from './field-manager.ts';
import { NodePools } from './node-pools.ts';
import { Nodes } from './nodes.ts';
import { RuntimeClasses } from './runtime-classes.ts';

/** With `dryRun` the server checks every write and keeps none. */
export function clusterPort(api: Api, dryRun: boolean, now: () => Date): ClusterPort {
  const query = { ...dryRunQuery(dryRun), fieldManager: FIELD_MANAGER };
  const nodes = new Nodes(api, query);
  const pools = new NodePools(api, query);
  const runtimeClasses = new RuntimeClasses(api, query);
  const source = { hostname: hostname(), now };
  return {
    listPools: () => pools.list(),
    listNodes: labelSelector => nodes.list(labelSelector),
    listRuntimeClasses: () => runtimeClasses.list(),
    getNode: name => nodes.get(name),
    nodeFieldManager: (name, path) => nodes.manager(name, path),
    patchNode: (name, patch, options) => nodes.patch(name, patch, dryRunQuery(options?.dryRun ?? false)),
    poolFieldManager: (name, path) => pools.manager(name, path),
    getPool: name => pools.get(name),
    setFinalizers: (pool, finalizers) => pools.setFinalizers(pool, finalizers),
    annotatePool: (pool, key, value) => pools.annotate(pool, key, value),
    patchStatus: (pool, status) => pools.patchStatus(pool, status),
    getRuntimeClass: name => runtimeClasses.get(name),
    createRuntimeClass: runtimeClass => runtimeClasses.create(runtimeClass),
    patchRuntimeClass: (current, scheduling) => runtimeClasses.patch(current, scheduling),
    deleteRuntimeClass: current => runtimeClasses.delete(current),
    createEvent: (pool, event) => createEvent(api, toEvent(pool, event, source), query),
  };
}
