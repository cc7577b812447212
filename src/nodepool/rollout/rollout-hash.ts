/** Tells the rollout of one spec from that of another: the hash is part of the time stamp in a record. */
import { memberLabels } from '../membership/selector.ts';
import { taintId } from '../spec/taint.ts';
import type { NodePool } from '../types.ts';

const hashes = new WeakMap<NodePool, string>();

/** Of what the spec changes on members. An edit of anything else, as settleSeconds, does not begin a rollout anew. */
export function rolloutHash(pool: NodePool): string {
  const known = hashes.get(pool);
  if (known !== undefined) return known;
  const { taints = [], annotations = {}, unmanaged = 'Keep' } = pool.spec;
  const parts = [
    pairs(memberLabels(pool)),
    pairs(annotations),
    taints.map(taint => [taintId(taint), taint.value ?? '']).sort(byId),
    // Startup taints are given to nodes that join; their place stays, as the records have the hash.
    [],
    unmanaged,
  ];
  const hash = hashOf(JSON.stringify(parts));
  hashes.set(pool, hash);
  return hash;
}

function pairs(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(byId);
}

function byId([a = '']: readonly string[], [b = '']: readonly string[]): number {
  return a < b ? -1 : 1;
}

/** 40 bits as hexadecimal digits: 32 by FNV-1a, 8 by another. Records have it, so it must stay as it is. */
function hashOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x050c5d1f];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
    b ^= b >>> 15;
  }
  const digits = (value: number, count: number) => (value >>> 0).toString(16).padStart(8, '0').slice(-count);
  return digits(b, 2) + digits(a ^ (a >>> 16), 8);
}
