/**
 * The expected state of a cluster, computed from what the test did (model.ts) without code of the product: each member
 * has exactly its pool's labels, taints and annotations, foreign ones are kept, nothing is left of other pools, statuses are
 * right, RuntimeClasses are those of the pools.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  BORN_ANNOTATION,
  FINALIZER,
  type NodePool,
  type NodePoolSpec,
  RECORD_ANNOTATION,
  type Taint,
} from '../../src/nodepool/types.ts';
import { NODE_ANNOTATIONS } from '../cluster/nodes.ts';
import { CLASSES, DRIFT, type Foreign, type Model, POOLS, taintId } from './model.ts';

export interface LiveNode {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { taints?: Taint[]; unschedulable?: boolean };
  status?: { conditions?: { type: string; status: string }[] };
}

export interface LiveClass {
  metadata: { name: string; uid: string };
  handler: string;
  scheduling?: { nodeSelector?: Record<string, string>; tolerations?: { key: string; effect: string }[] };
}

export interface Live {
  nodes: LiveNode[];
  pools: NodePool[];
  classes: LiveClass[];
}

export async function readLive({ client }: Pick<Model, 'client'>): Promise<Live> {
  const items = async <T>(path: string) => ((await client.expect('GET', path)) as { items: T[] }).items;
  const [nodes, pools, classes] = await Promise.all([
    items<LiveNode>('/api/v1/nodes'),
    items<NodePool>(POOLS),
    items<LiveClass>(CLASSES),
  ]);
  return { nodes, pools, classes };
}

/** Differences from the expected state, each a sentence. */
export async function differences(model: Model): Promise<string[]> {
  const live = await readLive(model);
  return [
    ...namesDiffer('nodes', live.nodes, [...model.nodes.keys()]),
    ...live.nodes.flatMap(node => nodeDiffers(node, model)),
    ...namesDiffer('pools', live.pools, [...model.pools.keys()]),
    ...live.pools.flatMap(pool => poolDiffers(pool, model)),
    ...classesDiffer(live.classes, model.pools),
  ];
}

/** The membership labels of a pool. */
function selectorOf(pool: string, { nodeSelector, matchExpressions }: NodePoolSpec): Record<string, string> {
  return nodeSelector ?? (matchExpressions === undefined ? { [`node-role.kubernetes.io/${pool}`]: '' } : {});
}

/** Whether a node with these labels is the pool's by its selector. */
export function isSelected(pool: string, spec: NodePoolSpec, labels: Record<string, string> = {}): boolean {
  const meets = ({ key, operator, values = [] }: { key: string; operator: string; values?: string[] }) => {
    const [live, [bound]] = [labels[key], values];
    const isIn = live !== undefined && values.includes(live);
    const compared = Number(live) - Number(bound);
    const met: Record<string, boolean> = {
      In: isIn,
      NotIn: !isIn,
      Exists: live !== undefined,
      DoesNotExist: live === undefined,
      Gt: compared > 0,
      Lt: compared < 0,
    };
    return met[operator] === true;
  };
  const pairs = Object.entries(selectorOf(pool, spec));
  return pairs.every(([key, value]) => labels[key] === value) && (spec.matchExpressions ?? []).every(meets);
}

/** Of chaos: set and removed by commands and other writers at any time. */
export function isMembership(key: string): boolean {
  return key === 'group' || key.startsWith('node-role.kubernetes.io/');
}

/** What the pool sets on its nodes. */
export function labelsOf(pool: string, { labels, matchExpressions }: NodePoolSpec): Record<string, string> {
  return { ...labels, ...(matchExpressions === undefined ? {} : { 'nodes.lailin.xyz/pool': pool }) };
}

function ownerOf({ labels }: Foreign, { pools }: Model): [string, NodePoolSpec] | undefined {
  const owners = [...pools].filter(([name, spec]) => isSelected(name, spec, labels));
  if (owners.length > 1) throw new Error(`the model knows no conflicts: ${owners.map(([name]) => name).join(', ')}`);
  return owners[0];
}

function nodeDiffers(node: LiveNode, model: Model): string[] {
  const { metadata, spec } = node;
  const { name, labels = {}, annotations = {} } = metadata;
  const foreign = model.nodes.get(name);
  if (foreign === undefined) return [];
  const [pool, owner] = ownerOf(foreign, model) ?? [];
  const byId = (taints: Taint[]) => Object.fromEntries(taints.map(taint => [taintId(taint), taint.value ?? '']));
  const record = annotations[RECORD_ANNOTATION];
  const holder = record === undefined ? undefined : (JSON.parse(record) as { pool: string }).pool;
  return [
    ...slotsDiffer(`node ${name}: label`, labels, {
      ...foreign.labels,
      ...(pool === undefined || owner === undefined ? {} : labelsOf(pool, owner)),
    }),
    ...slotsDiffer(`node ${name}: taint`, byId(spec.taints ?? []), {
      ...byId(foreign.taints),
      ...byId(owner?.taints ?? []),
      ...startupOf(node, owner),
    }),
    ...slotsDiffer(`node ${name}: annotation`, withoutWaiting(annotationsOf(metadata), pool), {
      ...foreign.annotations,
      ...owner?.annotations,
    }),
    ...(holder === pool ? [] : [`node ${name}: its record is of pool ${holder} and not ${pool}`]),
  ];
}

/**
 * The startup taints that the node must have: those that the record says were given, unless the pool must have lifted
 * them. Whether they had to be given depends on what the product saw of the node when.
 */
export function startupOf({ metadata, status }: LiveNode, owner: NodePoolSpec | undefined): Record<string, string> {
  const { startup = {} }: { startup?: Record<string, string | null> } = JSON.parse(
    metadata.annotations?.[RECORD_ANNOTATION] ?? '{}',
  );
  const isTrue = (type: string) =>
    status?.conditions?.some(condition => condition.type === type && condition.status === 'True') === true;
  const held = (owner?.startupTaints ?? []).filter(({ until }) => !(until && isTrue(until.nodeCondition))).map(taintId);
  return Object.fromEntries(
    Object.entries(startup).filter((slot): slot is [string, string] => slot[1] !== null && held.includes(slot[0])),
  );
}

/** Only makes an object large. */
export const BIG_ANNOTATION = 'example.com/big';

/** Without the record, and those of every node. */
export function annotationsOf({ annotations = {} }: LiveNode['metadata']): Record<string, string> {
  const isOther = (key: string) => [RECORD_ANNOTATION, BIG_ANNOTATION].includes(key) || key in NODE_ANNOTATIONS;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !isOther(key)));
}

/**
 * Without the birth record of a node that waited for a paused pool when it registered (docs/decisions/0044): it says that nothing was given, and
 * the first write removes it, which never comes on a node that is no pool's.
 */
function withoutWaiting(annotations: Record<string, string>, owner: string | undefined): Record<string, string> {
  const { [BORN_ANNOTATION]: birth, ...others } = annotations;
  return owner === undefined && birth?.startsWith('{"since":') ? others : annotations;
}

/** Each key with a wrong value, and each unexpected key. */
export function slotsDiffer(what: string, is: Record<string, string>, wanted: Record<string, string>): string[] {
  const wrong = Object.entries(wanted).filter(([key, value]) => is[key] !== value);
  const left = Object.entries(is).filter(([key, value]) => !(key in wanted) && !value.startsWith(DRIFT));
  return [
    ...wrong.map(([key, value]) => `${what} ${key} is ${JSON.stringify(is[key])} and not "${value}"`),
    ...left.map(([key, value]) => `${what} ${key}="${value}" is nobody's`),
  ];
}

function poolDiffers({ metadata, status }: NodePool, model: Model): string[] {
  const spec = model.pools.get(metadata.name);
  if (spec === undefined) return [];
  const members = [...model.nodes.values()].filter(node => ownerOf(node, model)?.[0] === metadata.name).length;
  const is = {
    status: status?.status,
    nodeCount: status?.nodeCount,
    readyNodeCount: status?.readyNodeCount,
    cpu: status?.allocatable?.cpu ?? '0',
    observedGeneration: status?.observedGeneration,
    finalizers: metadata.finalizers,
  };
  const wanted = {
    status: 200,
    nodeCount: members,
    readyNodeCount: members,
    // Every simulated node has 4.
    cpu: String(members * 4),
    observedGeneration: metadata.generation,
    finalizers: [FINALIZER],
  };
  if (isDeepStrictEqual(is, wanted)) return [];
  return [`pool ${metadata.name}: ${JSON.stringify(is)} and not ${JSON.stringify(wanted)}`];
}

/** Compares the RuntimeClasses with the pools. */
export function classesDiffer(classes: LiveClass[], pools: ReadonlyMap<string, NodePoolSpec>): string[] {
  const wanted = [...pools].filter(([, { handler }]) => handler !== undefined);
  const named = namesDiffer(
    'RuntimeClasses',
    classes,
    wanted.map(([name]) => `node-pool-${name}`),
  );
  const wrong = wanted.flatMap(([name, spec]) => {
    const live = classes.find(({ metadata }) => metadata.name === `node-pool-${name}`);
    const is = [live?.handler, live?.scheduling?.nodeSelector, live?.scheduling?.tolerations?.map(idOf).sort()];
    const should = [spec.handler, { ...selectorOf(name, spec), ...labelsOf(name, spec) }, toleratedIds(spec)];
    const empty = should[2]?.length === 0 && is[2] === undefined;
    return isDeepStrictEqual(is.slice(0, 2), should.slice(0, 2)) && (empty || isDeepStrictEqual(is[2], should[2]))
      ? []
      : [`RuntimeClass node-pool-${name}: ${JSON.stringify(is)} and not ${JSON.stringify(should)}`];
  });
  return [...named, ...wrong];
}

/** With what stands for a taint until its pods are evicted. */
function toleratedIds({ taints = [], noExecute }: NodePoolSpec): string[] {
  const evicting = noExecute === 'Drain' ? taints.filter(({ effect }) => effect === 'NoExecute') : [];
  const standIns = evicting.map(({ key }) => idOf({ key, effect: 'NoSchedule' }));
  return [...new Set([...taints.map(idOf), ...standIns])].sort();
}

const idOf = ({ key, effect }: { key: string; effect: string }) => `${key}:${effect}`;

function namesDiffer(what: string, live: { metadata: { name: string } }[], wanted: string[]): string[] {
  const [is, should] = [live.map(({ metadata }) => metadata.name).sort(), wanted.toSorted()];
  return isDeepStrictEqual(is, should) ? [] : [`${what}: ${is.join(', ')} and not ${should.join(', ')}`];
}
