/** How many more replicas of a pod nodes take, placed one after another like the scheduler does. */
import { ownValue } from '../nodepool/json.ts';
import { type Bounds, replicaBounds, type Site } from './bounds.ts';
import { Judge } from './judge.ts';
import { roomFor } from './node/resources.ts';
import type { Snapshot } from './snapshot.ts';
import type { PodTraits } from './types.ts';
import { disksClash } from './volumes/storage.ts';

export interface PlacedReplicas {
  /** In one order of the nodes; at most the limit. */
  replicas: number;
  /** How many of these are placed on each node that takes any. */
  byNode: ReadonlyMap<string, number>;
  /** Volumes that they occupy. */
  volumes: Iterable<string>;
  /** In any order of the nodes, and in the best one; at most the limit. */
  bounds: Bounds;
}

/** @param nodes names of the candidates; others only count for topology spread and pod affinity */
export function place(pod: PodTraits, nodes: Iterable<string>, snapshot: Snapshot, limit = Infinity): PlacedReplicas {
  return placeBy(new Judge(pod, snapshot), nodes, snapshot, { limit });
}

interface PlaceLimits {
  limit?: number;
  /** 1 for a DaemonSet. */
  perNode?: number;
}

/** Like place(). The judge can be reused unless replicas depend on each other. */
export function placeBy(
  judge: Judge,
  nodes: Iterable<string>,
  snapshot: Snapshot,
  limits: PlaceLimits = {},
): PlacedReplicas {
  const names = [...nodes];
  const early = leastOfEarly(judge, names, snapshot, limits);
  const found = placeInAnyOrder(judge, names, snapshot, limits);
  const { least, most } = found.bounds;
  return { ...found, bounds: { least: Math.min(least, early), most } };
}

/** How many replicas fit wherever their volumes are, if the server binds some claims before the scheduler decides. */
function leastOfEarly(judge: Judge, names: readonly string[], snapshot: Snapshot, { perNode }: PlaceLimits): number {
  if (judge.pod.claims.length === 0) return Infinity;
  const used = judge.volumes.usedUpEarly(names.flatMap(name => snapshot.nodes.get(name)?.node ?? []));
  if (used === undefined) return Infinity;
  const isOther = judge.spread.isSelfMatching || judge.affinity.isSelfMatching || perNode !== undefined;
  if (used.isLost || used.isShared || !used.isOne || isOther) return 0;
  const rooms = new Map([...used.limits.keys()].map(group => [group, 0]));
  for (const { node, room } of sitesOf(judge, names, snapshot, alone(judge.pod))) {
    const group = used.groups.get(node.name);
    if (group !== undefined && judge.takesNext(node)) rooms.set(group, (rooms.get(group) ?? 0) + room);
  }
  const short = [...rooms].filter(([group, room]) => room < (used.limits.get(group) ?? 0));
  return Math.min(...short.map(([, room]) => room));
}

function placeInAnyOrder(
  judge: Judge,
  nodes: readonly string[],
  snapshot: Snapshot,
  { limit = Infinity, perNode = Infinity }: PlaceLimits,
): PlacedReplicas {
  const { pod } = judge;
  const most = Math.min(perNode, alone(pod));
  const sites = sitesOf(judge, nodes, snapshot, most);
  const total = Math.min(limit, perCluster(pod, snapshot));
  if (judge.replicasDiffer) return placeFirst(judge, [...sites], total);
  const isDependent = judge.isSelfMatching;
  // Anti-affinity alone does not rank nodes, so a single replica takes the first; the others are not judged.
  const isOrdered = pod.spread.length > 0 || pod.affinity.length > 0 || judge.volumes.isSelfMatching;
  const inTurns = isDependent && (total > 1 || isOrdered);
  if (!inTurns) return placed(fill(judge, sites, total), judge);
  const all = [...sites];
  // A single replica fits in every order or in none.
  if (total === 1) return placed(placeInTurns(judge, all, total), judge);
  const { least, most: atMost } = replicaBounds(judge, all);
  const found = placed(placeInTurns(judge, all, total), judge);
  const { replicas } = found;
  // The placed number is possible.
  return { ...found, bounds: { least: Math.min(replicas, least), most: Math.max(replicas, Math.min(total, atMost)) } };
}

/** Adds the room and volumes of a result to its snapshot. */
export function settle(pod: PodTraits, { byNode, volumes }: PlacedReplicas, snapshot: Snapshot): void {
  for (const [node, count] of byNode) for (let at = 0; at < count; at++) snapshot.add(pod, node);
  for (const volume of volumes) snapshot.takenVolumes.add(volume);
}

function placed(taken: readonly CandidateNode[], { volumes }: Judge): PlacedReplicas {
  const replicas = taken.reduce((sum, { placed }) => sum + placed, 0);
  return {
    replicas,
    byNode: new Map(taken.map(({ node, placed }) => [node.name, placed])),
    volumes: volumes.taken,
    bounds: { least: replicas, most: replicas },
  };
}

/** Places one replica only: each of the others has labels of its own, which the rules use. */
function placeFirst(judge: Judge, sites: readonly CandidateNode[], limit: number): PlacedReplicas {
  const found = placed(placeInTurns(judge, sites, Math.min(1, limit)), judge);
  const room = sites.reduce((sum, site) => sum + site.room, 0);
  return { ...found, bounds: { least: found.replicas, most: Math.min(limit, room) } };
}

function* sitesOf(judge: Judge, nodes: Iterable<string>, snapshot: Snapshot, most: number): Generator<CandidateNode> {
  for (const name of nodes) {
    const state = snapshot.nodes.get(name);
    if (state === undefined) continue;
    const room = Math.min(roomFor(judge.pod.requests, state), most);
    if (room > 0 && judge.isAllowed(name)) yield { node: state.node, room, placed: 0 };
  }
}

interface CandidateNode extends Site {
  placed: number;
}

/** Replicas with a host port or an exclusive disk cannot share a node. */
function alone({ hostPorts, disks }: PodTraits): number {
  return hostPorts.length > 0 || disksClash(disks, disks) !== undefined ? 1 : Infinity;
}

function perCluster({ namespace, claims }: PodTraits, { storage }: Snapshot): number {
  const isExclusive = claims.some(
    ({ name, template }) =>
      template === undefined && storage.claims.get(`${namespace}/${name}`)?.accessModes.includes('ReadWriteOncePod'),
  );
  return isExclusive ? 1 : Infinity;
}

/** If replicas do not affect each other, fills every node. Returns the nodes that got some. */
function fill(judge: Judge, sites: Iterable<CandidateNode>, limit: number): CandidateNode[] {
  const taken: CandidateNode[] = [];
  let remaining = limit;
  if (remaining <= 0) return taken;
  for (const site of sites) {
    if (!judge.takesNext(site.node)) continue;
    site.placed = Math.min(site.room, remaining);
    remaining -= site.placed;
    taken.push(site);
    if (remaining === 0) break;
  }
  return taken;
}

/** Places one replica per node in turn, emptiest domains first, until no node takes one. Returns the nodes used. */
function placeInTurns(judge: Judge, sites: readonly CandidateNode[], limit: number): CandidateNode[] {
  let [replicas, before] = [0, -1];
  let open = [...sites];
  startNear(judge, open);
  while (replicas < limit && replicas > before) {
    before = replicas;
    open = open.filter(({ room, placed }) => placed < room);
    const loads = new Map(open.map(site => [site, judge.spread.load(site.node)]));
    open.sort((a, b) => (loads.get(a) ?? 0) - (loads.get(b) ?? 0));
    for (const site of open) {
      if (replicas >= limit) break;
      if (!judge.takesNext(site.node)) continue;
      judge.place(site.node);
      site.placed++;
      replicas++;
    }
  }
  return sites.filter(({ placed }) => placed > 0);
}

/** If the first replica determines the domain of all others, starts in the domain with the most room. */
function startNear(judge: Judge, sites: CandidateNode[]): void {
  const [term] = judge.pod.affinity;
  if (term === undefined) return;
  const rooms = new Map<string, number>();
  const domainOf = ({ node }: CandidateNode) => ownValue(node.labels, term.topologyKey) ?? '';
  for (const site of sites) rooms.set(domainOf(site), (rooms.get(domainOf(site)) ?? 0) + site.room);
  sites.sort((a, b) => (rooms.get(domainOf(b)) ?? 0) - (rooms.get(domainOf(a)) ?? 0));
}
