/** Lists and watches for the caches of `reconcile --watch`, with the transform of each object. */
import { hostname } from 'node:os';
import { coercePool } from '../../nodepool/coerce.ts';
import { CONTROLLER, type NodePool, type RuntimeClass } from '../../nodepool/types.ts';
import type { WatchPorts } from '../../operations/ports.ts';
import type { Transport } from '../transport/transport.ts';
import { eventSink } from './event-sink.ts';
import { withoutManagedFields } from './node-pools.ts';
import { toNode, type WireNode } from './nodes.ts';
import { PLACED, toPlace } from './pods.ts';
import { NODE_POOLS, NODES, PODS, RUNTIME_CLASSES } from './resource.ts';
import { listWatch } from './watch.ts';

export function watchPorts(transport: Transport): WatchPorts {
  return {
    pools: {
      source: listWatch(transport, NODE_POOLS),
      transform: raw => withoutManagedFields(coercePool(raw as NodePool)),
    },
    nodes: { source: listWatch(transport, NODES), transform: raw => toNode(raw as WireNode) },
    runtimeClasses: {
      source: listWatch(transport, RUNTIME_CLASSES),
      transform: raw => withoutManagedFields(raw as RuntimeClass),
    },
    pods: { source: listWatch(transport, PODS, PLACED), transform: toPlace },
    events: eventSink(transport, CONTROLLER, `${CONTROLLER}-${hostname()}`),
  };
}
