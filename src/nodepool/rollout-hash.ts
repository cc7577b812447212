/** Tells the rollout of one spec from that of another: the hash is part of the time stamp in a record. */
import { createHash } from 'node:crypto';
import { memberLabels } from './selector.ts';
import { taintId } from './taint.ts';
import type { NodePool } from './types.ts';

const hashes = new WeakMap<NodePool, string>();

/** Of what the spec changes on members. An edit of anything else, as settleSeconds, does not begin a rollout anew. */
export function rolloutHash(pool: NodePool): string {
  const known = hashes.get(pool);
  if (known !== undefined) return known;
  const { taints = [], annotations = {}, startupTaints = [], unmanaged = 'Keep' } = pool.spec;
  const parts = [
    pairs(memberLabels(pool)),
    pairs(annotations),
    taints.map(taint => [taintId(taint), taint.value ?? '']).sort(byId),
    // Members lose those that leave the spec, and get no new ones.
    startupTaints.map(taintId).sort(),
    unmanaged,
  ];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 10);
  hashes.set(pool, hash);
  return hash;
}

function pairs(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(byId);
}

function byId([a = '']: readonly string[], [b = '']: readonly string[]): number {
  return a < b ? -1 : 1;
}
