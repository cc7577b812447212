/**
 * How many replicas of a pod nodes take if the placement of one affects the next, for any order in which the scheduler
 * picks nodes. Exact for one topology spread constraint with nested group limits; otherwise safe bounds.
 */
import { ownValue } from '../nodepool/json.ts';
import type { Node } from '../nodepool/types.ts';
import type { Judge } from './judge.ts';
import type { SpreadState } from './spread/spread.ts';

/** Why `least` and `most` differ. */
export const BY_ORDER = 'the number depends on which nodes the scheduler picks first';

export interface Bounds {
  /** In every order. */
  least: number;
  /** In the best order. */
  most: number;
}

export interface Site {
  node: Node;
  /** How many more replicas fit by resources and ports. */
  room: number;
}

/** Groups of nodes that together take a limited number of replicas. */
interface GroupLimits {
  /** Undefined: unlimited. */
  groupOf(node: Node): string | undefined;
  limitOf(group: string): number;
}

export const NO_REPLICAS: Bounds = { least: 0, most: 0 };

/** @param judge before any replica is placed @param sites that it allows */
export function replicaBounds(judge: Judge, sites: readonly Site[]): Bounds {
  const { spread, affinity } = judge;
  const open = sites.filter(({ node }) => spread.isOpen(node) && affinity.judge(node).length === 0);
  const first = open.filter(({ node }) => judge.takesNext(node));
  if (first.length === 0) return NO_REPLICAS;
  const limits = groupLimits(judge, open);
  const known = new Map<readonly Site[], Bounds>();
  const of = (some: readonly Site[]) => {
    const bounds = known.get(some) ?? spreadBounds(some, spread.counting, limits.groups);
    known.set(some, bounds);
    return bounds;
  };
  const bounds = afterFirst(judge, first, open).map(({ least, most }): Bounds => {
    return { least: limits.isExact ? of(least).least : 0, most: Math.min(limits.most, of(most).most) };
  });
  return {
    // The scheduler finds a node for at least one replica.
    least: Math.max(1, Math.min(...bounds.map(({ least }) => least))),
    most: Math.max(1, ...bounds.map(({ most }) => most)),
  };
}

interface Reach {
  /** The nodes that further replicas can use for certain, and those that they may be able to use. */
  least: readonly Site[];
  most: readonly Site[];
}

/** The nodes left for others once the first replica has chosen a pod affinity domain or bound a shared claim. */
function afterFirst(judge: Judge, first: readonly Site[], sites: readonly Site[]): Reach[] {
  const keys = judge.affinity.keysOfFirst;
  const domainOf = ({ labels }: Node) => keys.map(key => JSON.stringify(ownValue(labels, key))).join();
  const byDomain = keys.length === 0 ? undefined : Map.groupBy(sites, ({ node }) => domainOf(node));
  const byName = new Map(sites.map(site => [site.node.name, site]));
  const reaches = new Map<string, Reach>();
  for (const site of first) {
    const binding = judge.volumes.boundOn(site.node);
    const domain = domainOf(site.node);
    const id = `${domain} ${binding?.id ?? ''}`;
    if (reaches.has(id)) continue;
    const near = byDomain?.get(domain) ?? sites;
    const most = binding?.nodes?.().flatMap(node => {
      const other = byName.get(node.name);
      return other === undefined || domainOf(node) !== domain ? [] : [other];
    });
    reaches.set(id, { least: binding?.isUnsure === true ? [site] : (most ?? near), most: most ?? near });
  }
  return [...reaches.values()];
}

/** `isExact`: no two groups share a limit. `most`: of all nodes together. */
function groupLimits(
  { affinity, volumes }: Judge,
  sites: readonly Site[],
): { groups: GroupLimits[]; isExact: boolean; most: number } {
  const groups = affinity.keysOfOne.map(key => ({
    groupOf: ({ labels }: Node) => ownValue(labels, key),
    limitOf: () => 1,
  }));
  const used = volumes.usedUp(sites.map(({ node }) => node));
  if (used === undefined) return { groups, isExact: true, most: Infinity };
  const ofVolumes = {
    groupOf: ({ name }: Node) => used.groups.get(name),
    limitOf: (group: string) => used.limits.get(group) ?? Infinity,
  };
  const most = sites.every(({ node }) => used.groups.has(node.name)) ? used.volumes : Infinity;
  return { groups: [...groups, ofVolumes], isExact: !used.isShared, most };
}

// Topology spread. The domain with the fewest pods stays open until it is full, so the first full domain determines the
// final minimum. Every other domain then has as many pods as it takes, or at most maxSkew more.

function spreadBounds(sites: readonly Site[], spreads: readonly SpreadState[], limits: readonly GroupLimits[]): Bounds {
  if (spreads.length === 0) return capacity(sites, limits);
  const each = spreads.map((main): Bounds => {
    const others = spreads.filter(spread => spread !== main).map(alwaysOpen);
    return {
      least: spreadBound(sites, main, [...limits, ...others]).least,
      most: spreadBound(sites, main, limits).most,
    };
  });
  return { least: Math.max(...each.map(({ least }) => least)), most: Math.min(...each.map(({ most }) => most)) };
}

/** How many more pods its domains always take, because the minimum of the domains never decreases. */
function alwaysOpen({ topologyKey, maxSkew, counts, isShort }: SpreadState): GroupLimits {
  const fewest = isShort ? 0 : Math.min(...counts.values());
  return {
    groupOf: ({ labels }) => ownValue(labels, topologyKey),
    limitOf: domain => Math.max(0, fewest + maxSkew - (counts.get(domain) ?? 0)),
  };
}

function spreadBound(sites: readonly Site[], spread: SpreadState, limits: readonly GroupLimits[]): Bounds {
  const domainOf = ({ labels }: Node) => ownValue(labels, spread.topologyKey) ?? '';
  const byDomain = Map.groupBy(sites, ({ node }) => domainOf(node));
  const inner = limits.filter(each => isWithin(each, sites, domainOf));
  const outer = limits.filter(each => !inner.includes(each));
  const rooms = new Map([...byDomain].map(([domain, some]) => [domain, capacity(some, inner)]));
  const bound = (of: (bounds: Bounds) => number) =>
    levelled(spread, domain => {
      const room = rooms.get(domain);
      return room === undefined ? 0 : of(room);
    });
  const [least, most] = [bound(room => room.least), bound(room => room.most)];
  if (outer.length === 0) return { least, most };
  const together = outer.map(each => capacity(sites, [each]).most);
  // A limit on all nodes together ends placement in every order.
  const areOfAll = outer.every(({ groupOf }) => new Set(sites.map(({ node }) => groupOf(node))).size === 1);
  return { least: areOfAll ? Math.min(least, ...together) : 0, most: Math.min(most, ...together) };
}

function levelled({ counts, maxSkew, isShort }: SpreadState, roomOf: (domain: string) => number): number {
  const domains = [...counts].map(([domain, count]) => ({ count, full: count + roomOf(domain) }));
  const fewest = isShort ? 0 : domains.reduce((min, { full }) => Math.min(min, full), Infinity);
  return domains.reduce((sum, { count, full }) => sum + Math.max(0, Math.min(full, fewest + maxSkew) - count), 0);
}

/** Whether each group lies within one domain. */
function isWithin({ groupOf }: GroupLimits, sites: readonly Site[], domainOf: (node: Node) => string): boolean {
  const domains = new Map<string, string>();
  for (const { node } of sites) {
    const group = groupOf(node);
    if (group === undefined) continue;
    const domain = domainOf(node);
    if ((domains.get(group) ?? domain) !== domain) return false;
    domains.set(group, domain);
  }
  return true;
}

// Only group limits. If groups are nested, every order ends with the same number of replicas.

interface Part {
  /** One for each limit; null: its nodes are in several groups. */
  groups: (string | undefined | null)[];
  room: number;
}

function capacity(sites: readonly Site[], limits: readonly GroupLimits[]): Bounds {
  const all = sites.reduce((sum, { room }) => sum + room, 0);
  if (limits.length === 0) return { least: all, most: all };
  const nested = nestedCapacity(sites, limits);
  if (nested !== undefined) return { least: nested, most: nested };
  const most = Math.min(...limits.map(each => nestedCapacity(sites, [each]) ?? all));
  // With n partitions into limited groups, any order reaches at least 1/n of the best one.
  return { least: Math.ceil(inOneOrder(sites, limits) / limits.length), most };
}

/** Undefined: groups overlap. */
function nestedCapacity(sites: readonly Site[], limits: readonly GroupLimits[]): number | undefined {
  let parts = sites.map(({ node, room }): Part => ({ groups: limits.map(({ groupOf }) => groupOf(node)), room }));
  const sizes = limits.map((_, at) => new Set(parts.map(({ groups }) => groups[at])).size);
  const smallestGroupsFirst = [...limits.keys()].toSorted((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0));
  for (const at of smallestGroupsFirst) {
    const merged = new Map<string, Part>();
    const free: Part[] = [];
    for (const part of parts) {
      const group = part.groups[at];
      if (group === null) return undefined;
      const before = group === undefined ? undefined : merged.get(group);
      if (group === undefined) free.push(part);
      else if (before === undefined) merged.set(group, { ...part });
      else {
        before.room += part.room;
        before.groups = before.groups.map((each, i) => (each === part.groups[i] ? each : null));
      }
    }
    for (const [group, part] of merged) part.room = Math.min(part.room, limits[at]?.limitOf(group) ?? Infinity);
    parts = [...free, ...merged.values()];
  }
  return parts.reduce((sum, { room }) => sum + room, 0);
}

function inOneOrder(sites: readonly Site[], limits: readonly GroupLimits[]): number {
  const remaining = limits.map(() => new Map<string, number>());
  let placed = 0;
  for (const { node, room } of sites) {
    const groups = limits.map(({ groupOf }) => groupOf(node));
    const open = groups.map((group, at) =>
      group === undefined ? Infinity : (remaining[at]?.get(group) ?? limits[at]?.limitOf(group) ?? Infinity),
    );
    const here = Math.min(room, ...open);
    for (const [at, group] of groups.entries()) {
      if (group !== undefined) remaining[at]?.set(group, (open[at] ?? 0) - here);
    }
    placed += here;
  }
  return placed;
}
