/** Whether startup taints were given only by the write in which a node joined a pool, by every version of nodes in etcd. */
import assert from 'node:assert/strict';
import { holderOf, type NodeState, type Version } from './history.ts';

export interface StartupCounts {
  /** Startup taints that were given. */
  given: number;
  /** Nodes that were created with the mark of a pool. */
  born: number;
}

/**
 * Throws where a node got such a taint while it stayed in the pool: after its birth, after another one had been removed, after
 * its mark became its record. A node that leaves the pool and comes back may get it again.
 * @param ids key:Effect of the startup taints; nobody else sets such a taint
 */
export function judgeStartup(versions: readonly Version<NodeState>[], ids: ReadonlySet<string>): StartupCounts {
  const last = new Map<string, NodeState>();
  const counts: StartupCounts = { given: 0, born: 0 };
  for (const { name, state, revision } of versions) {
    const former = last.get(name);
    const before = former?.uid === state?.uid ? former : undefined;
    if (state === undefined) last.delete(name);
    else last.set(name, state);
    if (state === undefined) continue;
    const holder = holderOf(state);
    if (before === undefined && holder !== undefined) counts.born++;
    const given = [...state.taints].filter(([id, value]) => ids.has(id) && before?.taints.get(id) !== value);
    if (given.length === 0) continue;
    counts.given += given.length;
    const text = given.map(([id, value]) => `${id}=${value}`).join(', ');
    const joins = holder !== undefined && (before === undefined || holderOf(before) !== holder);
    assert.ok(joins, `node ${name} got ${text} in revision ${revision} of etcd, and was in pool ${holder} before`);
  }
  return counts;
}
