/** The stops of rollouts that the status of a pool remembers: by spec, whatever becomes of the nodes, a pause or other settings. */
import { memberLabels } from '../membership/selector.ts';
import { taintId } from '../spec/taint-rules.ts';
import { parseTime, timestamp } from '../timestamp.ts';
import { type NodePool, RESUMED_ANNOTATION, type StoppedRollout } from '../types.ts';
import type { RolloutStep, RolloutStop } from './rollout-step.ts';

/** Specs; the oldest one is forgotten. */
const MAX_STOPPED = 10;
/** Names of one stop. */
const MAX_NODES = 10;

/** Of the current spec; `rollout resume` may have ended it since the status was written. */
export function stoppedRollout(pool: NodePool): RolloutStop | undefined {
  if (pool.status?.stoppedRollouts === undefined) return undefined;
  const hash = rolloutHash(pool);
  const found = pool.status.stoppedRollouts.find(({ rollout }) => rollout === hash);
  const at = parseTime(found?.time);
  return found === undefined || Number.isNaN(at) ? undefined : { at, nodes: found.nodes ?? [] };
}

/** @param step undefined: nothing is known of the current spec */
export function stoppedRollouts(pool: NodePool, step: Pick<RolloutStep, 'stop'> | undefined): StoppedRollout[] {
  const before = pool.status?.stoppedRollouts ?? [];
  if (step === undefined) return before;
  const [hash, { stop }] = [rolloutHash(pool), step];
  const resumed = parseTime(pool.metadata.annotations?.[RESUMED_ANNOTATION]);
  // Whoever resumes the current spec does not mean the others.
  const others = before.map(each =>
    each.rollout !== hash && Date.parse(each.time) <= resumed ? { ...each, time: after(resumed) } : each,
  );
  if (stop === undefined) return others.filter(({ rollout }) => rollout !== hash);
  const nodes = stop.nodes.slice(0, MAX_NODES);
  const current = { rollout: hash, time: timestamp(new Date(stop.at)), ...(nodes.length === 0 ? {} : { nodes }) };
  const isKnown = others.some(({ rollout }) => rollout === hash);
  if (isKnown) return others.map(each => (each.rollout === hash ? current : each));
  return [...others, current].slice(-MAX_STOPPED);
}

function after(time: number): string {
  return timestamp(new Date(time + 1_000));
}

// Tells the rollout of one spec from that of another: the hash is part of the time stamp in a record.

const hashes = new WeakMap<NodePool, string>();

/** Of what the spec changes on members. An edit of anything else, as settleSeconds, begins no new rollout. */
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
