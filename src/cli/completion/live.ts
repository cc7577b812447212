/** Names of the cluster and of the kubeconfig: from the cache while it is fresh, else asked for, briefly. */
import { createHash } from 'node:crypto';
import { own } from '../../nodepool/json.ts';
import type { Names, NamesPort } from '../../operations/names-port.ts';
import { cachePath } from '../private-folder.ts';
import { readCache, writeCache } from './cache.ts';
import { isSafeName } from './safe-text.ts';
import type { Live } from './sources.ts';

/** What is younger is not asked for again. */
const FRESH_MS = 10_000;
/** What is younger stands in where the cluster does not answer in time. */
const USABLE_MS = 300_000;
/** Longest wait: a person has pressed a key. */
const WAIT_MS = 800;
/** The same, with names at hand that are not fresh. */
const SHORT_WAIT_MS = 300;

export interface LiveOptions {
  /** Of members and nonMembers: the pools that are named before. */
  pools?: readonly string[];
  env: Record<string, string | undefined>;
  now: () => Date;
}

/** Only names that a shell takes as they are. Throws NodepoolError, or whatever else stands in the way. */
export async function liveNames(what: Live, port: NamesPort, options: LiveOptions): Promise<string[]> {
  return (await allNames(what, port, options)).filter(isSafeName);
}

async function allNames(what: Live, port: NamesPort, options: LiveOptions): Promise<string[]> {
  switch (what) {
    case 'contexts':
    case 'clusters':
    case 'users':
      return port.access()[what];
    case 'pools':
    case 'nodes':
      return (await cached(what, port, options)).names;
    case 'members':
    case 'nonMembers':
      return relatives(what, await cached('nodes', port, options), options.pools ?? []);
    case 'resources':
      return (await cached('pools', port, options)).resources ?? [];
    case 'poolLabels':
      return (await cached('pools', port, options)).labelKeys;
    case 'nodeLabels':
      return (await cached('nodes', port, options)).labelKeys;
  }
}

/** The nodes of these pools, or those that a pool could get; without a pool any. */
function relatives(what: 'members' | 'nonMembers', nodes: Names, pools: readonly string[]): string[] {
  const { names, recorded = {}, roles = {} } = nodes;
  if (pools.length === 0) return names;
  const byRole = pools.flatMap(pool => own(roles, pool) ?? []);
  if (what === 'members') return [...new Set([...pools.flatMap(pool => own(recorded, pool) ?? []), ...byRole])];
  // A node that another pool holds is not added, but moved.
  const taken = new Set([...Object.values(recorded).flat(), ...byRole]);
  return names.filter(name => !taken.has(name));
}

async function cached(kind: 'pools' | 'nodes', port: NamesPort, { env, now }: LiveOptions): Promise<Names> {
  const folder = cachePath('completion', env);
  const key = `${createHash('sha256').update(port.identity()).digest('hex').slice(0, 32)}-${kind}.json`;
  const found = folder === undefined ? undefined : readCache(folder, key, now());
  if (found !== undefined && found.ageMs < FRESH_MS) return found.names;
  const old = found !== undefined && found.ageMs < USABLE_MS ? found.names : undefined;
  try {
    if (!port.isQuiet()) throw new Error('a person would have to log in');
    const names = await port.list(kind, old === undefined ? WAIT_MS : SHORT_WAIT_MS);
    if (folder !== undefined) writeCache(folder, key, names, now());
    return names;
  } catch (error) {
    if (old === undefined) throw error;
    return old;
  }
}
