/** Nodes that a person gives to a pool, or takes out of one: the labels go with the patch of all that follows from it. */
import { NodepoolError } from '../nodepool/errors.ts';
import { effective, type LabelPatch, labelOf, patchedLabels } from '../nodepool/member-labels.ts';
import type { Claim } from '../nodepool/membership.ts';
import { type Change, type NodePlan, planNode } from '../nodepool/plan.ts';
import { formatRecord } from '../nodepool/record.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import { followed, planStep } from './node-plan.ts';
import type { View } from './view.ts';

export interface Order {
  /** The pool that is to have the node; undefined leaves that to the rules. */
  to: string | undefined;
  /** What is to become of the labels of the node as it is now. Throws NodepoolError where they must stay. */
  labels: (node: Node, claim: Claim) => LabelPatch;
}

/** Orders that one pool's reconcile carries out; no other node is written then. */
export interface Orders {
  pool: string;
  nodes: ReadonlyMap<string, Order>;
}

/**
 * The one patch of an order: labels, what the pool that loses the node takes back, what the one that gets it sets, and
 * its record. Undefined when the node is not known. Throws NodepoolError when the order cannot be met.
 */
export function planOrder(view: View, name: string, order: Order): NodePlan | undefined {
  const node = view.node(name);
  const claim = view.claim(name);
  if (node === undefined || claim === undefined) return undefined;
  const labels = effective(node, order.labels(node, claim));
  // What an inherited pool holds is told by its label alone (membership.ts): the record takes over from it.
  const record = node.record ?? (claim.record && formatRecord(claim.record));
  const relabelled: Node = {
    ...node,
    labels: patchedLabels(node.labels, labels),
    ...(record === undefined ? {} : { record }),
  };
  const after = view.claimOf(relabelled);
  const plan = order.to === undefined ? planStep(view, relabelled, after) : planFor(view, relabelled, after, order.to);
  const isRelabelled = Object.keys(labels).length > 0;
  const patch = isRelabelled ? { resourceVersion: node.resourceVersion, labels } : undefined;
  return followed(view, [{ ...plan, node, changes: changesOf(node, labels), patch }, plan]);
}

/**
 * The nodes that a reconcile of the pool looks at: all that it holds; with orders, those that it carries out. A pool that
 * is gone or going lets go of all it has, whatever was ordered.
 */
export function nodesToSettle(view: View, pool: string, orders: Orders | undefined): string[] {
  if (orders === undefined || !view.isStaying(pool)) return view.held(pool).map(node => node.name);
  return pool === orders.pool ? [...orders.nodes.keys()] : [];
}

/** @param nodes how many that were not ordered differ from what the pool wants */
export function notApplied(pool: string, nodes: number): string {
  const subject = nodes === 1 ? '1 other node of it is' : `${nodes} other nodes of it are`;
  return `${subject} not as the pool says, and its status was left as it was: run \`kubectl nodepool reconcile ${pool}\``;
}

/** For the pool that is to have the node, whoever else matches it. */
function planFor(view: View, node: Node, { record, owner, losers }: Claim, to: string): NodePlan {
  const pool = able(view, to);
  const rivals = [owner, ...losers].flatMap(rival => (rival === to ? [] : (poolOf(view, rival) ?? [])));
  return planNode(node, record, pool, rivals);
}

function poolOf(view: View, name: string | undefined): NodePool | undefined {
  return name === undefined ? undefined : view.pool(name);
}

/** A pool that may get nodes. */
export function able(view: View, name: string): NodePool {
  const pool = view.pool(name);
  if (pool === undefined) throw new NodepoolError('cluster', `nodepool ${name} was deleted meanwhile`);
  if (pool.metadata.deletionTimestamp !== undefined) {
    throw new NodepoolError('input', `nodepool ${name} is being deleted`, 'choose another pool');
  }
  const [wrong] = view.specErrors(name);
  if (wrong === undefined) return pool;
  throw new NodepoolError(
    'input',
    `nodepool ${name} gets no nodes while its spec is invalid: ${wrong.field}: ${wrong.message}`,
    `mend it with \`kubectl nodepool edit ${name}\``,
  );
}

function changesOf(node: Node, labels: LabelPatch): Change[] {
  return Object.entries(labels).map(([key, to]): Change => {
    const from = labelOf(node, key);
    return {
      kind: 'label',
      key,
      action: to === null ? 'remove' : from === undefined ? 'add' : 'change',
      ...(from === undefined ? {} : { from }),
      ...(to === null ? {} : { to }),
      reason: 'membership',
    };
  });
}
