/** Watches for `--watch`: pools as they are printed, and events about pools. */
import type { FollowPorts, RawPool } from '../../operations/ports.ts';
import type { Transport } from '../transport/transport.ts';
import type { WireEvent } from './event-body.ts';
import { aboutPools, isOurs, toRecord } from './events.ts';
import { withSpec } from './node-pools.ts';
import { EVENTS, NODE_POOLS } from './resource.ts';
import { listWatch } from './watch.ts';

export function followPorts(transport: Transport): FollowPorts {
  return {
    pools({ names, labelSelector, fieldSelector: asked }) {
      // With the name as field selector, RBAC permits users who may only read that pool.
      const fieldSelector = names.length === 1 ? `metadata.name=${names[0]}` : asked;
      return {
        source: listWatch(transport, NODE_POOLS, { fieldSelector, labelSelector }),
        transform(raw) {
          const pool = raw as RawPool;
          const isMeant = names.length === 0 || names.includes(pool.metadata.name);
          return isMeant ? withSpec(pool) : undefined;
        },
      };
    },

    events: pool => ({
      source: listWatch(transport, EVENTS, aboutPools(pool)),
      transform: raw => (isOurs(raw as WireEvent) ? toRecord(raw as WireEvent) : undefined),
    }),
  };
}
