/** Lists pools and revisions, or the metadata of other objects, for completion. Loads none of the other clients. */
import { systemClock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject, parsedJson } from '../../nodepool/json.ts';
import { recordIn } from '../../nodepool/membership/birth-record.ts';
import { ROLE_PREFIX } from '../../nodepool/membership/selector.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { POOL_LABEL, type Taint } from '../../nodepool/types.ts';
import { requestPage } from '../api/page.ts';
import {
  CONTROLLER_REVISIONS,
  NAMESPACES,
  NODE_POOLS,
  NODES,
  ONLY_METADATA,
  PODS,
  type Resource,
} from '../api/resource.ts';
import { NO_TERMINAL } from '../auth/auth-info.ts';
import { loadCredentials } from '../auth/credentials.ts';
import type { ClusterAccess } from '../auth/kubeconfig.ts';
import type { NamedLabels } from '../protobuf/objects.ts';
import type { Query } from '../transport/request.ts';
import { userAgent } from '../transport/request-log.ts';
import { Transport } from '../transport/transport.ts';
import type { CompletionNames, NamesKind } from './names.ts';

export interface ListNamesOptions {
  /** Limit in milliseconds, including the login. */
  deadlineMs: number;
  /** This program's version, for the User-Agent. */
  version: string;
  env: Record<string, string | undefined>;
  /** For pods. */
  namespace?: string | undefined;
}

/** More than a person reads; a namespace can have many more pods, each with about a kilobyte of metadata. */
const MAX_PODS = 1_000;

/** Opens a connection and closes it. Rejects with any error. */
export async function listNames(
  kind: NamesKind,
  access: ClusterAccess,
  { deadlineMs, version, env, namespace }: ListNamesOptions,
): Promise<CompletionNames> {
  const resource = resourceOf(kind, namespace);
  const ended = new AbortController();
  // The stderr of a plugin would appear in the line that the user is typing.
  const login = { env, signal: ended.signal, terminal: { ...NO_TERMINAL, stderr: 'ignore' as const } };
  const transport = new Transport({
    access,
    credentials: () => loadCredentials(access, login),
    userAgent: userAgent(version, process.platform, process.arch),
    deadlineMs,
    env,
    clock: systemClock,
    log: () => {},
  });
  try {
    const { answer, page } = await requestPage(transport, resource, queryOf(kind));
    // Without permission, or without the resource, there are no names; the cache stores that result.
    if ([401, 403, 404].includes(answer.status)) return namesOf([]);
    if (answer.status !== 200) throw new NodepoolError('cluster', `no names of ${resource.plural}: ${answer.status}`);
    const items = page === undefined ? itemsOf(answer.text) : [];
    const metadata = (page?.items ?? items.map(item => item.metadata)) as NamedLabels[];
    switch (kind) {
      case 'nodes':
        return nodesOf(metadata);
      case 'namespaces':
      case 'pods':
        return { names: metadata.flatMap(({ name }) => name ?? []), labelKeys: [] };
      case 'revisions':
        return { ...namesOf([]), revisions: revisionsOf(items) };
      case 'pools':
        return {
          ...namesOf(metadata),
          resources: resourcesOf(items),
          taints: taintsOf(items, 'taints'),
          startupTaints: taintsOf(items, 'startupTaints'),
          annotations: annotationsOf(items),
        };
    }
  } finally {
    ended.abort();
    transport.close();
  }
}

/** Pools and revisions are few and need more than metadata. Other resources would be too large. */
function resourceOf(kind: NamesKind, namespace: string | undefined): Resource {
  switch (kind) {
    case 'pools':
      return NODE_POOLS;
    case 'revisions':
      return CONTROLLER_REVISIONS;
    case 'nodes':
      return { ...NODES, ...ONLY_METADATA };
    case 'namespaces':
      return { ...NAMESPACES, ...ONLY_METADATA };
    case 'pods':
      return { ...PODS, ...ONLY_METADATA, namespace: namespace ?? 'default' };
  }
}

/** From the server's watch cache: slightly outdated names suffice. With version 0, the server ignores a limit. */
function queryOf(kind: NamesKind): Query {
  if (kind === 'pods') return { limit: `${MAX_PODS}` };
  return { resourceVersion: '0', ...(kind === 'revisions' ? { labelSelector: POOL_LABEL } : {}) };
}

/** More values than a person reads. */
const MAX_VALUES = 100;

function namesOf(items: NamedLabels[]): CompletionNames {
  const values = new Map<string, Set<string>>();
  for (const [key, value] of items.flatMap(({ labels = {} }) => Object.entries(labels))) {
    const known = values.get(key) ?? new Set();
    values.set(key, known.add(value));
  }
  const few = [...values].filter(([, known]) => known.size <= MAX_VALUES);
  return {
    names: items.flatMap(({ name }) => name ?? []),
    labelKeys: [...values.keys()].toSorted(),
    labelValues: Object.fromEntries(few.map(([key, known]) => [key, [...known].toSorted()])),
  };
}

function nodesOf(items: NamedLabels[]): CompletionNames {
  const [recorded, roles] = [new Map<string, string[]>(), new Map<string, string[]>()];
  const add = (to: Map<string, string[]>, key: string, name: string) => {
    const names = to.get(key);
    if (names === undefined) to.set(key, [name]);
    else names.push(name);
  };
  for (const { name = '', labels = {}, annotations } of items) {
    const pool = recordedPool(recordIn(annotations));
    if (pool !== undefined) add(recorded, pool, name);
    else
      for (const key in labels)
        if (key.startsWith(ROLE_PREFIX) && labels[key] === '') add(roles, key.slice(ROLE_PREFIX.length), name);
  }
  return { ...namesOf(items), recorded: Object.fromEntries(recorded), roles: Object.fromEntries(roles) };
}

/** The pool in a record or birth record. */
function recordedPool(raw = ''): string | undefined {
  const json = parsedJson(raw);
  return isObject(json) && typeof json.pool === 'string' ? json.pool : undefined;
}

function resourcesOf(pools: Record<string, unknown>[]): string[] {
  const found = new Set<string>();
  for (const { status } of pools) {
    const { allocatable } = isObject(status) ? status : {};
    if (!isObject(allocatable)) continue;
    for (const [name, quantity] of Object.entries(allocatable)) if (quantity !== '0') found.add(name);
  }
  return [...found].toSorted();
}

function revisionsOf(items: Record<string, unknown>[]): Record<string, string[]> {
  const numbers = items.flatMap(({ metadata, revision }) => {
    const pool = isObject(metadata) && isObject(metadata.labels) ? metadata.labels[POOL_LABEL] : undefined;
    return typeof pool === 'string' && typeof revision === 'number' ? { pool, revision } : [];
  });
  const byPool = Map.groupBy(numbers, ({ pool }) => pool);
  return Object.fromEntries(
    [...byPool].map(([pool, all]) => [pool, [...new Set(all.map(each => String(each.revision)))]]),
  );
}

function taintsOf(pools: Record<string, unknown>[], field: 'taints' | 'startupTaints'): string[] {
  const found = pools.flatMap(({ spec }) => {
    const { [field]: taints } = isObject(spec) ? spec : {};
    return (Array.isArray(taints) ? taints : []).filter(isTaint).map(formatTaint);
  });
  return [...new Set(found)].toSorted();
}

function annotationsOf(pools: Record<string, unknown>[]): string[] {
  const found = pools.flatMap(({ spec }) => {
    const { annotations } = isObject(spec) ? spec : {};
    return isObject(annotations) ? Object.keys(annotations) : [];
  });
  return [...new Set(found)].toSorted();
}

function isTaint(value: unknown): value is Taint {
  if (!isObject(value)) return false;
  const { key, value: text = '', effect } = value;
  return [key, text, effect].every(part => typeof part === 'string');
}

function itemsOf(text: string): Record<string, unknown>[] {
  const { items }: { items?: unknown } = JSON.parse(text);
  return (Array.isArray(items) ? items : []).filter(isObject);
}
