/**
 * Whether rollouts kept spec.rollout.maxConcurrent, by every version of nodes and pools in etcd.
 *
 * What is provable: the hash in a stamp tells the specs of which the process knew one, so the largest of their limits counts. A
 * percentage is of all nodes that may have been members in the last minute. A node is in flight by the shortest of their
 * settleSeconds, to the whole second, and only if it was a member all the time: with settleSeconds 0, only while it is drained.
 * A node that was changed again while it was in flight takes no place.
 */
import assert from 'node:assert/strict';
import { rolloutHash } from '../../src/nodepool/rollout/rollout.ts';
import { API_VERSION, type RolloutStrategy } from '../../src/nodepool/types.ts';
import { isSelected } from './expected.ts';
import type { NodeState, Version } from './history.ts';
import { type PoolSpans, STALE_MS } from './pool-spans.ts';

/** As documented: added to settleSeconds, unless that is 0. */
const MARGIN_MS = 2_000;
const SECOND_MS = 1_000;

export interface RolloutCounts {
  /** Nodes that were changed by a rollout and took a place. */
  judged: number;
  /** How often all places were taken. */
  full: number;
}

/** A version of a node, and those of the same node since its stamp, itself included. */
interface Live extends Version<NodeState> {
  state: NodeState;
  since: Version<NodeState>[];
}

export function judgeRollouts(versions: readonly Version<NodeState>[], spans: PoolSpans): RolloutCounts {
  const live = new Map<string, Live>();
  /** When the node may have been a member last, by `pool node`. */
  const left = new Map<string, number>();
  const newest = new Map<string, number>();
  const counts: RolloutCounts = { judged: 0, full: 0 };
  for (const { state, ...version } of versions) {
    const former = live.get(version.name);
    const before = former?.state.uid === state?.uid ? former : undefined;
    if (former !== undefined)
      for (const pool of spans.names())
        if (mayHave(spans, pool, former, version.at)) left.set(`${pool} ${version.name}`, version.at);
    if (state === undefined) {
      live.delete(version.name);
      continue;
    }
    const isStamped = rolloutChangeOf(state) !== rolloutChangeOf(before?.state);
    const since = isStamped ? [] : (before?.since ?? []);
    const now: Live = { ...version, state, since: [...since, { ...version, state }] };
    live.set(version.name, now);
    const { pool, changed, rollout } = state.record ?? {};
    if (!isStamped || pool === undefined || changed === undefined || before?.state.record?.pool !== pool) continue;
    // Of two that are written at the same time, each counts for the other from its stamp on.
    const time = Math.max(Date.parse(changed), newest.get(pool) ?? 0);
    newest.set(pool, time);
    const strategies = spans
      .specs(pool, Number.NEGATIVE_INFINITY, version.at)
      .flatMap(spec => (spec?.rollout !== undefined && hashOf(pool, spec) === rollout ? spec.rollout : []));
    const text = `node ${version.name} of pool ${pool} in revision ${version.revision} of etcd`;
    assert.ok(strategies.length > 0, `${text}: the pool never had a spec of the rollout ${rollout}`);
    const settles = strategies.map(({ settleSeconds = 60 }) => settleSeconds);
    if (isInFlight(before.state, pool, rollout, Date.parse(changed) - SECOND_MS, Math.max(...settles))) continue;
    counts.judged++;
    const others = [...live.values()].filter(
      other =>
        other.name !== version.name &&
        isInFlight(other.state, pool, rollout, time + SECOND_MS, Math.min(...settles)) &&
        spans.alwaysHad(pool, other.since, [other.since[0]?.at ?? 0, version.at], spec =>
          [rollout, other.state.record?.rollout].includes(hashOf(pool, spec)),
        ),
    );
    const limit = Math.max(
      ...strategies.map(strategy => limitOf(strategy, () => members(spans, pool, version.at, live, left))),
    );
    if (others.length + 1 >= limit) counts.full++;
    const says = ({ state, revision }: Version<NodeState>) => {
      const { changed, rollout, draining } = state?.record ?? {};
      return JSON.stringify({ revision, changed, rollout, draining });
    };
    const names = others.map(other => `${other.name} ${says(other)}`).join(', ');
    const was = `it is ${says({ ...version, state })} and was ${says(before)}`;
    assert.ok(others.length < limit, `${text} was changed while ${names} were in flight, and ${limit} may be: ${was}`);
  }
  return counts;
}

function rolloutChangeOf(state: NodeState | undefined): string {
  const { pool, changed, rollout } = state?.record ?? {};
  return JSON.stringify([pool, changed, rollout]);
}

const hashes = new WeakMap<object, string>();

function hashOf(name: string, spec: object): string {
  const hash =
    hashes.get(spec) ?? rolloutHash({ apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec } as never);
  hashes.set(spec, hash);
  return hash;
}

function isInFlight(
  { record }: NodeState,
  pool: string,
  rollout: string | undefined,
  time: number,
  settleSeconds: number,
): boolean {
  if (record?.pool !== pool || record.changed === undefined) return false;
  if (record.draining !== undefined && record.rollout === rollout) return true;
  return settleSeconds > 0 && Date.parse(record.changed) + settleSeconds * SECOND_MS + MARGIN_MS >= time;
}

function limitOf({ maxConcurrent = Number.POSITIVE_INFINITY }: RolloutStrategy, members: () => number): number {
  if (typeof maxConcurrent === 'number') return maxConcurrent;
  return Math.max(1, Math.ceil((Number.parseInt(maxConcurrent, 10) * members()) / 100));
}

/** Whether the node may be a member by what a process knows of the pool then. */
function mayHave(spans: PoolSpans, pool: string, { state }: { state: NodeState }, at: number): boolean {
  const { record, labels } = state;
  return (
    record?.pool === pool ||
    spans.specs(pool, at, at).some(spec => spec !== undefined && isSelected(pool, spec, labels))
  );
}

function members(
  spans: PoolSpans,
  pool: string,
  at: number,
  live: ReadonlyMap<string, Live>,
  left: ReadonlyMap<string, number>,
): number {
  const prefix = `${pool} `;
  const names = [...live.values()].filter(node => mayHave(spans, pool, node, at)).map(({ name }) => name);
  const gone = [...left].filter(([key, when]) => key.startsWith(prefix) && when >= at - STALE_MS);
  return new Set([...names, ...gone.map(([key]) => key.slice(prefix.length))]).size;
}
