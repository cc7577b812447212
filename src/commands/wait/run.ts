/** Waits for a condition on pools with a watch, which is not started if the condition is already met. */
import type { NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { coercePool, NEVER_OBSERVED } from '../../nodepool/spec/coerce.ts';
import { deletionText, GOOD_STATUS } from '../../nodepool/status/status.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type FollowDeps, follow } from '../shared/follow.ts';
import { chosenPools, type PoolChoice } from '../shared/pools/choose-pools.ts';
import { type NamesDeps, namesToSuggest, poolsNotFound } from '../shared/pools/not-found.ts';

export interface WaitOptions {
  pools: PoolChoice;
  /** In order: a pool that meets one condition waits for the next; creation comes first. */
  conditions: readonly WaitCondition[];
  /** In milliseconds; 0: check once. */
  timeoutMs: number;
}

export interface WaitDeps extends FollowDeps, NamesDeps {
  pools: Pick<NodePoolsClient, 'get' | 'list' | 'watchRaw' | 'firstNames'>;
  /** Called once pools were found. */
  onFound: (pools: readonly string[]) => void;
  /** Called for each pool and each condition that it meets. */
  onMet: (pool: string, isLast: boolean) => void;
}

interface OneWait {
  pools: PoolChoice;
  condition: WaitCondition;
  timeoutMs: number;
  onMet: (pool: string) => void;
}

/** Like kubectl wait. Returns an error for each pool that does not meet all conditions. */
export async function waitForEach(
  { pools, conditions, timeoutMs }: WaitOptions,
  deps: WaitDeps,
): Promise<NodepoolError[]> {
  const end = deps.clock.now() + timeoutMs;
  const errors: NodepoolError[] = [];
  let unmet = pools;
  const sorted = conditions.toSorted((a, b) => isLate(a) - isLate(b));
  for (const condition of sorted) {
    const met: string[] = [];
    const onMet = (name: string) => {
      met.push(name);
      deps.onMet(name, condition === sorted.at(-1));
    };
    const remainingMs = Math.max(0, end - deps.clock.now());
    errors.push(...(await waitForOne({ pools: unmet, condition, timeoutMs: remainingMs, onMet }, deps)));
    if (met.length === 0) break;
    unmet = { names: met };
  }
  return errors;
}

/** An error for each pool that does not meet the condition, or if no pool is selected. Pools are selected once. */
async function waitForOne(options: OneWait, deps: WaitDeps): Promise<NodepoolError[]> {
  const { condition, timeoutMs, onMet } = options;
  const { found, missing } = await chosenPools(options.pools, deps.pools);
  const { kind } = condition;
  if (found.length > 0) deps.onFound(found.map(({ metadata }) => metadata.name));
  // The same as kubectl wait.
  if (found.length + missing.length === 0 && kind !== 'delete')
    return [new NodepoolError('input', 'no matching pools found')];
  const errors =
    kind === 'delete' || kind === 'create'
      ? []
      : poolsNotFound('wait', missing, await namesToSuggest('wait', missing, deps));
  const open: OpenPools = new Map(kind === 'create' ? missing.map(name => [name, undefined]) : []);
  for (const pool of found) {
    const answer = judge(condition, pool);
    if (answer === true) onMet(pool.metadata.name);
    else if (answer === false) open.set(pool.metadata.name, pool);
    else errors.push(answer);
  }
  if (open.size > 0 && timeoutMs > 0) errors.push(...(await watch(open, options, deps)));
  const what = timeoutMs === 0 ? 'condition not met for' : 'timed out waiting for the condition on';
  for (const [name, pool] of open) {
    const now = pool === undefined ? goneText(condition) : currentText(condition, pool);
    errors.push(new NodepoolError('cluster', `${what} nodepools/${name}${now === undefined ? '' : `: ${now}`}`));
  }
  return errors;
}

const isLate = ({ kind }: WaitCondition) => (kind === 'create' ? 0 : 1);

/** Pools that are still waited for, by name; undefined: the pool does not exist yet. */
type OpenPools = Map<string, RawPool | undefined>;

function goneText({ kind }: WaitCondition): string | undefined {
  return kind === 'create' ? undefined : 'it was deleted';
}

/** Whether the condition is met, or the error that prevents an answer. */
function judge(condition: WaitCondition, pool: RawPool): boolean | NodepoolError {
  try {
    // A path may refer to fields that this version does not know.
    return isMet(condition, condition.kind === 'object' ? pool : coercePool<RawPool>(pool));
  } catch (error) {
    if (error instanceof NodepoolError) return error;
    throw error;
  }
}

/** Removes pools from `open` that meet the condition or are deleted; ends when it is empty, or on timeout. */
async function watch(
  open: OpenPools,
  { condition, timeoutMs, onMet }: OneWait,
  deps: WaitDeps,
): Promise<NodepoolError[]> {
  const errors: NodepoolError[] = [];
  const over = new AbortController();
  const leave = (name: string) => {
    open.delete(name);
    if (open.size === 0) over.abort();
  };
  const met = (name: string) => {
    onMet(name);
    leave(name);
  };
  const gone = (name: string) => {
    if (condition.kind === 'delete') met(name);
    // As in kubectl wait: the pool may be recreated before the timeout.
    else open.set(name, undefined);
  };
  const check = (pool: RawPool) => {
    const { name, uid } = pool.metadata;
    if (!open.has(name)) return;
    if (condition.kind === 'delete' && open.get(name)?.metadata.uid !== uid) return gone(name);
    const answer = judge(condition, pool);
    if (answer === true) met(name);
    else if (answer === false) open.set(name, pool);
    else {
      errors.push(answer);
      leave(name);
    }
  };
  const cancel = deps.clock.after(timeoutMs, () => over.abort());
  const watching = follow<RawPool>(
    {
      resource: 'nodepools.nodes.lailin.xyz',
      watched: deps.pools.watchRaw({ names: [...open.keys()] }),
      onStart(pools) {
        const there = new Set(pools.map(({ metadata }) => metadata.name));
        for (const name of [...open.keys()]) if (!there.has(name)) gone(name);
        for (const pool of pools) check(pool);
      },
      onChanged: check,
      onDeleted: ({ metadata: { name } }) => {
        if (open.has(name)) gone(name);
      },
      signal: over.signal,
    },
    deps,
  );
  await watching.finally(cancel);
  return errors;
}

// The condition of `wait --for`.

export type WaitCondition =
  | { kind: 'create' | 'delete' }
  | { kind: 'status' | 'nodes' | 'ready'; value: number }
  /** A condition type of the status, compared case-insensitively. */
  | { kind: 'condition'; type: string; value: string }
  /** @param matches may throw NodepoolError, which ends the wait for the pool; then `current` throws too */
  | { kind: 'object'; matches: (pool: NodePool) => boolean; current: (pool: NodePool) => string };

/** Whether an existing pool meets the condition. As in `kubectl wait`, an outdated status does not count. */
export function isMet(condition: WaitCondition, pool: NodePool): boolean {
  switch (condition.kind) {
    case 'create':
      return true;
    case 'delete':
      return false;
    case 'status':
    case 'nodes':
    case 'ready':
      return !isOld(pool) && pool.status?.[FIELDS[condition.kind]] === condition.value;
    case 'condition': {
      const found = conditionOf(pool, condition.type);
      return found !== undefined && !isOld(pool, found.observedGeneration) && isSame(found.status, condition.value);
    }
    case 'object':
      return condition.matches(pool);
  }
}

/** Whether a reconcile writes the fields of the condition. */
export function isWritten(condition: WaitCondition): boolean {
  if (condition.kind === 'condition') return Object.keys(GOOD_STATUS).some(type => isSame(type, condition.type));
  return condition.kind in FIELDS;
}

/** The current state: `condition Applied is False (NodesDiffer)`. Undefined: only the pool's existence is known. */
export function currentText(condition: WaitCondition, pool: NodePool): string | undefined {
  switch (condition.kind) {
    case 'create':
      return undefined;
    case 'delete': {
      const text = deletionText(pool);
      return text && `it is ${text}`;
    }
    case 'status':
    case 'nodes':
    case 'ready': {
      const field = FIELDS[condition.kind];
      return `status.${field} is ${pool.status?.[field] ?? 'not set'}${ageText(pool)}`;
    }
    case 'condition': {
      const found = conditionOf(pool, condition.type);
      if (found === undefined) return `it has no condition ${condition.type}`;
      const { type, status, reason, observedGeneration } = found;
      return `condition ${type} is ${status}${reason ? ` (${reason})` : ''}${ageText(pool, observedGeneration)}`;
    }
    case 'object':
      return condition.current(pool);
  }
}

const FIELDS = { status: 'status', nodes: 'nodeCount', ready: 'readyNodeCount' } as const;

function conditionOf({ status }: NodePool, expected: string) {
  return status?.conditions?.find(({ type }) => isSame(type, expected));
}

function isOld({ metadata, status }: NodePool, observed = status?.observedGeneration): boolean {
  const { generation = 0 } = metadata;
  const seen = observed === NEVER_OBSERVED ? undefined : observed;
  return (seen ?? generation) < generation;
}

function ageText(pool: NodePool, observed = pool.status?.observedGeneration): string {
  return isOld(pool, observed)
    ? `, of generation ${observed}; the spec has generation ${pool.metadata.generation}`
    : '';
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
