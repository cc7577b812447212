/** What a drain is given and reports, and how a node ends. */
import type { DrainPod } from '../../nodepool/drain-filters.ts';
import type { DrainPace } from '../../nodepool/drain-slots.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import type { CordonChange, MaintenanceWish } from '../../nodepool/plan-cordon.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Warning } from '../../nodepool/warning.ts';
import type { CordonDeps, CordonResult } from '../cordon.ts';
import type { NodeDrain, NodeDrainDeps, PodEvent, RemovalOptions } from './drain-node.ts';
import type { DrainPlan } from './plan-drain.ts';

export type DrainEvent =
  | PodEvent
  /** @param returned as in NodeDrain */
  | { kind: 'drained'; node: string; returned: number }
  | NodeWaits
  | CordonEvent
  | NodeLeft
  | { kind: 'replaced'; node: string }
  | NodeFailure;
/** Only in a dry run. @param held as in NodeDrain */
type NodeWaits = { kind: 'waits'; node: string; held: ReadonlyMap<string, string> };
type CordonEvent = { kind: 'cordon'; result: CordonResult };
/** The node is no longer a member. */
type NodeLeft = { kind: 'left'; node: string; pool: string; isCordoned: boolean };
type NodeFailure = { kind: 'failed'; node: string; error: NodepoolError };

export interface DrainOptions extends Omit<RemovalOptions, 'dryRun'> {
  /** Only these members; empty: all. */
  nodes: readonly string[];
  /** Each node is cordoned right before it is drained, not all at the start. */
  isRolling: boolean;
  /** @param members of the pool */
  pace: (members: number) => DrainPace;
  /** As in CordonChange. */
  maintenance?: MaintenanceWish | undefined;
  takeover?: boolean;
}

export interface PoolDrain {
  pool: string;
  /** In the order in which they are drained. Nodes whose phase is not `drained` are not drained. */
  drains: NodeDrain[];
  /** Pods that were found on its drained nodes at the end: they came back, or others came. */
  returned?: DrainPod[];
}

export interface DrainDeps extends Omit<NodeDrainDeps, 'onEvent' | 'pods' | 'limitObjects'>, CordonDeps {
  /** @param state the pool and all its nodes as they are now */
  onEvent: (event: DrainEvent, state: PoolDrain) => void;
  /** Of a maintenance that is not published. */
  onWarning: (warning: Warning) => void;
}

/** The deps while the nodes of a pool are drained: events are reported with all of them. */
export type Work = Omit<DrainDeps, 'onEvent'> &
  Pick<NodeDrainDeps, 'limitObjects'> & { onEvent: (event: DrainEvent) => void; cordon: CordonChange };

/** @param isMember whether a node is a member of the pool, by the pools of the plan */
export type PoolWork = Work & Pick<DrainPlan, 'blocked'> & { pool: string; isMember: (node: Node) => boolean };

export function waits(each: NodeDrain, { onEvent }: Work): void {
  each.phase = 'waits';
  onEvent({ kind: 'waits', node: each.node, held: each.held });
}

export function finish(each: NodeDrain, { onEvent }: Work): void {
  each.phase = 'drained';
  onEvent({ kind: 'drained', node: each.node, returned: each.returned ?? 0 });
}
