/**
 * Whether a cluster is in the state that its pools describe, computed from the live pools and from what others set
 * (model.ts), without code of the product. Pools and membership labels are read from the cluster: after killed
 * commands they cannot be predicted.
 */
import { isDeepStrictEqual } from 'node:util';
import { FINALIZER, type NodePool, RECORD_ANNOTATION, type Taint } from '../../src/nodepool/types.ts';
import {
  annotationsOf,
  classesDiffer,
  isMembership,
  isSelected,
  type Live,
  type LiveNode,
  labelsOf,
  slotsDiffer,
  startupOf,
} from './expected.ts';
import { type Foreign, taintId } from './model.ts';
import { isOfOtherSoftware } from './other-software.ts';

/** Differences from the expected state, each a sentence. */
export function disorder(live: Live, foreign: ReadonlyMap<string, Foreign>): string[] {
  const pools = new Map(live.pools.map(pool => [pool.metadata.name, pool]));
  const specs = new Map(live.pools.map(({ metadata, spec }) => [metadata.name, spec]));
  const names = live.nodes.map(({ metadata }) => metadata.name).sort();
  return [
    ...(isDeepStrictEqual(names, [...foreign.keys()].sort()) ? [] : [`nodes: ${names.join(', ')}`]),
    ...live.nodes.flatMap(node => nodeDisorder(node, foreign.get(node.metadata.name), pools)),
    ...live.pools.flatMap(pool => poolDisorder(pool, live.nodes)),
    ...classesDiffer(live.classes, specs),
  ];
}

function nodeDisorder(node: LiveNode, foreign: Foreign | undefined, pools: ReadonlyMap<string, NodePool>): string[] {
  const { name, labels = {} } = node.metadata;
  const holder = holderOf(node);
  const matching = [...pools.values()].filter(pool => matches(pool, node)).map(({ metadata }) => metadata.name);
  const isRight = holder === undefined ? matching.length === 0 : matching.includes(holder);
  const owner = holder === undefined ? undefined : pools.get(holder)?.spec;
  const membership = Object.fromEntries(Object.entries(labels).filter(([key]) => isMembership(key)));
  const isStripped = (key: string) =>
    owner?.unmanaged === 'Remove' && !key.includes('kubernetes') && !isOfOtherSoftware(key);
  const others = Object.entries(foreign?.labels ?? {}).filter(([key]) => !isMembership(key) && !isStripped(key));
  const byId = (taints: Taint[]) => Object.fromEntries(taints.map(taint => [taintId(taint), taint.value ?? '']));
  return [
    ...(isRight ? [] : [`node ${name}: held by ${holder}, and it matches ${matching.join(', ') || 'no pool'}`]),
    ...slotsDiffer(`node ${name}: label`, labels, {
      ...Object.fromEntries(others),
      ...(holder === undefined || owner === undefined ? {} : labelsOf(holder, owner)),
      ...membership,
    }),
    ...slotsDiffer(`node ${name}: taint`, byId(node.spec.taints ?? []), {
      ...byId(foreign?.taints ?? []),
      ...byId(owner?.taints ?? []),
      ...startupOf(node, owner),
    }),
    ...slotsDiffer(`node ${name}: annotation`, annotationsOf(node.metadata), {
      ...foreign?.annotations,
      ...owner?.annotations,
    }),
  ];
}

function holderOf({ metadata }: LiveNode): string | undefined {
  const record = metadata.annotations?.[RECORD_ANNOTATION];
  return record === undefined ? undefined : (JSON.parse(record) as { pool: string }).pool;
}

function matches({ metadata, spec }: NodePool, node: LiveNode): boolean {
  return isSelected(metadata.name, spec, node.metadata.labels);
}

function poolDisorder(pool: NodePool, nodes: readonly LiveNode[]): string[] {
  const { metadata, status } = pool;
  const members = nodes.filter(node => holderOf(node) === metadata.name);
  const isContested = nodes.some(node => matches(pool, node) && holderOf(node) !== metadata.name);
  const is = {
    isGoing: metadata.deletionTimestamp !== undefined,
    status: status?.status,
    nodeCount: status?.nodeCount,
    updatedNodeCount: status?.updatedNodeCount,
    unschedulableNodeCount: status?.unschedulableNodeCount,
    cpu: status?.allocatable?.cpu ?? '0',
    observedGeneration: status?.observedGeneration,
    finalizers: metadata.finalizers,
  };
  const wanted = {
    isGoing: false,
    status: isContested ? 409 : 200,
    nodeCount: members.length,
    updatedNodeCount: members.length,
    unschedulableNodeCount: members.filter(({ spec }) => spec.unschedulable).length,
    // Every simulated node has 4.
    cpu: String(members.length * 4),
    observedGeneration: metadata.generation,
    finalizers: [FINALIZER],
  };
  if (isDeepStrictEqual(is, wanted)) return [];
  return [`pool ${metadata.name}: ${JSON.stringify(is)} and not ${JSON.stringify(wanted)}`];
}
