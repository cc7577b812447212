/** The stops of rollouts that the status of a pool remembers: by spec, whatever becomes of the nodes, a pause or other settings. */

import { parseTime, timestamp } from '../timestamp.ts';
import { type NodePool, RESUMED_ANNOTATION, type StoppedRollout } from '../types.ts';
import { rolloutHash } from './rollout-hash.ts';
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
