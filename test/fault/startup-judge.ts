/** Whether startup taints were given only by the write in which a node joined a pool, by every version of nodes in etcd. */
import assert from 'node:assert/strict';
import { holderOf, type NodeState, type Version } from './history.ts';
import type { PoolSpans } from './pool-spans.ts';

export interface StartupCounts {
  /** Startup taints that were given. */
  given: number;
  /** Nodes that were created with the mark of a pool. */
  born: number;
  /** Those of `given` that the node had before in the same pool, and that were removed or lifted there. As text. */
  again: string[];
}

/**
 * Throws where a node got such a taint while it stayed in the pool: after its birth, after another one had been removed, after
 * its mark became its record. A node that leaves the pool and comes back may get it again.
 * @param ids key:Effect of the startup taints; nobody else sets such a taint
 */
export function judgeStartup(versions: readonly Version<NodeState>[], ids: ReadonlySet<string>): StartupCounts {
  const last = new Map<string, NodeState>();
  const counts: StartupCounts = { given: 0, born: 0, again: [] };
  /** By `UID id`: the pool in which it was removed or lifted. */
  const lifted = new Map<string, string>();
  for (const { name, state, revision } of versions) {
    const former = last.get(name);
    const before = former?.uid === state?.uid ? former : undefined;
    if (state === undefined) last.delete(name);
    else last.set(name, state);
    if (state === undefined) continue;
    const holder = holderOf(state);
    if (before === undefined && holder !== undefined) counts.born++;
    for (const id of before?.taints.keys() ?? [])
      if (ids.has(id) && !state.taints.has(id) && holder !== undefined && before && holderOf(before) === holder)
        lifted.set(`${state.uid} ${id}`, holder);
    const given = [...state.taints].filter(([id, value]) => ids.has(id) && before?.taints.get(id) !== value);
    if (given.length === 0) continue;
    counts.given += given.length;
    for (const [id] of given)
      if (holder !== undefined && lifted.get(`${state.uid} ${id}`) === holder)
        counts.again.push(`node ${name} got ${id} again in revision ${revision} of etcd`);
    const text = given.map(([id, value]) => `${id}=${value}`).join(', ');
    const joins = holder !== undefined && (before === undefined || holderOf(before) !== holder);
    assert.ok(joins, `node ${name} got ${text} in revision ${revision} of etcd, and was in pool ${holder} before`);
  }
  return counts;
}

/**
 * Throws where a node came back to a pool that it need not have left: it would get its startup taints twice. By all that a process may
 * have known, its labels were those of the pool meanwhile.
 */
export function judgeReturns(versions: readonly Version<NodeState>[], spans: PoolSpans): void {
  /** By the node's UID, then pool: the versions since it joined. */
  const stays = new Map<string, Map<string, Version<NodeState>[]>>();
  const last = new Map<string, NodeState>();
  for (const version of versions) {
    const { name, state } = version;
    if (state === undefined) continue;
    const before = last.get(state.uid);
    last.set(state.uid, state);
    const holder = holderOf(state);
    const joins = holder !== undefined && (before === undefined || holderOf(before) !== holder);
    const ofNode = stays.get(state.uid) ?? new Map<string, Version<NodeState>[]>();
    stays.set(state.uid, ofNode);
    for (const since of ofNode.values()) since.push(version);
    if (!joins) continue;
    const former = ofNode.get(holder);
    ofNode.set(holder, [version]);
    const needLeave = former === undefined || !spans.alwaysHad(holder, former, [former[0]?.at ?? 0, version.at]);
    assert.ok(
      needLeave,
      `node ${name} left pool ${holder} and came back in revision ${version.revision}, without a reason`,
    );
  }
}
