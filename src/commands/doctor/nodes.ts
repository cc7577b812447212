/** Nodes against their pools: overlaps, records of deleted pools, drift, missing handlers, invalid quantities. */

import type { ExaminedNode } from '../../kube/ports/doctor.ts';
import { parseRecord } from '../../nodepool/plan/record.ts';
import { plural } from '../../nodepool/plural.ts';
import { omittedTexts } from '../../nodepool/quantity/node-resources.ts';
import { sumResourceLists } from '../../nodepool/quantity/quantity.ts';
import { type NodePool, RECORD_ANNOTATION } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { error, type Finding, named, ok, warning } from '../shared/check.ts';

/** Nodes that match several pools: one gets them, the others have status 409. */
export function checkOverlaps(pools: NodePool[], state: ClusterState): Finding {
  const details: string[] = [];
  for (const { metadata } of pools) {
    const byOwner = Map.groupBy(state.lost(metadata.name), ({ owner }) => owner.metadata.name);
    for (const [owner, lost] of [...byOwner].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const nodes = lost.map(({ node }) => node.name);
      details.push(`${metadata.name} does not get ${plural(nodes.length, 'node')} of ${owner}: ${named(nodes)}`);
    }
  }
  if (details.length === 0) return ok('no node matches several pools');
  return error(
    'nodes match several pools, and belong to one of them',
    'change the nodeSelector of one pool (kubectl nodepool edit), or the labels of the nodes',
    details,
  );
}

/** Labels and taints of deleted pools that are still on nodes. */
export function checkOrphans(pools: NodePool[], nodes: ExaminedNode[], state: ClusterState): Finding {
  const living = new Set(pools.map(({ metadata }) => metadata.name));
  const gone = state.poolNames().filter(name => !living.has(name));
  // On members a reconcile replaces it.
  const unreadable = nodes
    .filter(({ record }) => record !== undefined && parseRecord(record) === undefined)
    .map(({ name }) => name)
    .filter(name => state.ownership(name)?.owner === undefined);
  const details = [
    ...gone.map(pool => {
      const held = state.held(pool).map(({ name }) => name);
      return `pool ${pool} is deleted, and its labels and taints are still on ${plural(held.length, 'node')}: ${named(held)}`;
    }),
    ...(unreadable.length === 0
      ? []
      : [`the record on ${plural(unreadable.length, 'node')} cannot be read: ${named(unreadable)}`]),
  ];
  if (details.length === 0) return ok('no node carries labels or taints of a deleted pool');
  const remedies = [
    ...(gone.length === 0
      ? []
      : [
          'create the pools again from their files to keep them, or run `kubectl nodepool reconcile`, which removes them',
        ]),
    ...(unreadable.length === 0
      ? []
      : [`remove a record that cannot be read: \`kubectl annotate node NODE ${RECORD_ANNOTATION}-\``]),
  ];
  return warning('nodes carry records of pools that do not exist', remedies.join('; '), details);
}

/** Members on which a pod that names the pool's RuntimeClass cannot start. */
export function checkHandlers(pools: NodePool[], nodes: ExaminedNode[], state: ClusterState): Finding {
  const handlersOf = new Map(nodes.map(({ name, handlers }) => [name, handlers]));
  const details: string[] = [];
  let silent = 0;
  let asked = 0;
  for (const { metadata, spec } of pools) {
    const { handler } = spec;
    if (!handler) continue;
    asked++;
    const members = state.members(metadata.name);
    const lacking = members.filter(({ name }) => {
      const offered = handlersOf.get(name);
      if (offered === undefined) silent++;
      return offered !== undefined && !offered.includes(handler);
    });
    if (lacking.length === 0) continue;
    const names = lacking.map(({ name }) => name);
    details.push(
      `${metadata.name}: ${plural(names.length, 'member')} of ${members.length} without ${handler}: ${named(names)}`,
    );
  }
  if (details.length > 0) {
    return error(
      'members do not offer the runtime handler of their pool: pods with its RuntimeClass fail there',
      "configure the handler in the nodes' container runtime, or correct spec.handler",
      details,
    );
  }
  if (asked === 0) return ok('no pool has a runtime handler');
  const untold =
    silent === 0
      ? ''
      : `; ${plural(silent, 'member')} ${silent === 1 ? 'does not report what it offers' : 'do not report what they offer'}`;
  return ok(`no member is known to lack the runtime handler of its pool${untold}`);
}

/** Members whose allocatable cannot be added up, so that their pool has status 500, and those of which something is left out. */
export function checkQuantities(pools: NodePool[], state: ClusterState): Finding {
  const details = pools.flatMap(({ metadata }) => {
    const members = state.members(metadata.name);
    const problems: string[] = [];
    sumResourceLists(
      members.map(({ allocatable }) => allocatable),
      (place, problem) => problems.push(`${metadata.name}: node ${members[place]?.name}: ${problem}`),
    );
    return problems;
  });
  const omitted = pools.flatMap(({ metadata: { name } }) =>
    state.members(name).flatMap(node => omittedTexts(node).map(text => `${name}: left out: ${text}`)),
  );
  if (details.length === 0 && omitted.length > 0) {
    return warning(
      'members report resources that are left out of the sums',
      'check what their kubelet or device plugin reports, and who has the credentials of the node',
      omitted,
    );
  }
  if (details.length === 0) return ok('the allocatable resources of all members can be summed');
  return error('members report quantities that cannot be read', 'correct what their kubelet or device plugin reports', [
    ...details,
    ...omitted,
  ]);
}
