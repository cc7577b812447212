/** All pools, or the metadata of all nodes, over the same transport, and none of what writes or watches. */
import { systemClock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { ROLE_PREFIX } from '../../nodepool/selector.ts';
import { RECORD_ANNOTATION } from '../../nodepool/types.ts';
import type { Names } from '../../operations/names-port.ts';
import { NO_TERMINAL } from '../auth/auth-info.ts';
import { loadCredentials } from '../auth/credentials.ts';
import type { Access } from '../auth/kubeconfig.ts';
import { decodeMetadata, type NamedLabels, PROTOBUF } from '../protobuf/objects.ts';
import { Transport } from '../transport/transport.ts';
import { userAgent } from '../transport/user-agent.ts';
import { requestPage } from './page.ts';
import { NODE_POOLS, NODES, type Resource } from './resource.ts';

/** The server leaves out spec and status: "Metadata-only fetches" of the API's concepts. */
const AS_METADATA = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const ACCEPT = `${PROTOBUF};${AS_METADATA}, application/json;${AS_METADATA}`;

export interface ListNamesOptions {
  /** For all of it. */
  deadlineMs: number;
  /** This program's version, for the User-Agent. */
  version: string;
  env: Record<string, string | undefined>;
}

/** Opens a connection and ends it. Rejects, not only with NodepoolError. */
export async function listNames(
  kind: 'pools' | 'nodes',
  access: Access,
  { deadlineMs, version, env }: ListNamesOptions,
): Promise<Names> {
  const resource = kind === 'pools' ? NODE_POOLS : NODES;
  const ended = new AbortController();
  // What a plugin says would stand in the line that is being typed.
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
    // Pools are few, and what they have stands in their status. Of nodes that would be much.
    const asked: Resource = kind === 'pools' ? resource : { ...resource, decode: decodeMetadata, accept: ACCEPT };
    // From the server's own cache: names of a moment ago will do.
    const { answer, page } = await requestPage(transport, asked, { resourceVersion: '0' });
    // Who may not see them has none, also of a moment ago; so has a cluster without the resource.
    if ([401, 403, 404].includes(answer.status)) return namesOf([]);
    if (answer.status !== 200) throw new NodepoolError('cluster', `no names of ${resource.plural}: ${answer.status}`);
    if (page?.items !== undefined) return nodesOf(page.items as NamedLabels[]);
    const items = itemsOf(answer.text);
    const metadata = items.map(item => item.metadata as NamedLabels);
    return kind === 'nodes' ? nodesOf(metadata) : { ...namesOf(metadata), resources: resourcesOf(items) };
  } finally {
    ended.abort();
    transport.close();
  }
}

function namesOf(items: NamedLabels[]): Names {
  return {
    names: items.flatMap(({ name }) => name ?? []),
    labelKeys: [...new Set(items.flatMap(({ labels = {} }) => Object.keys(labels)))].toSorted(),
  };
}

function nodesOf(items: NamedLabels[]): Names {
  const [recorded, roles] = [new Map<string, string[]>(), new Map<string, string[]>()];
  const add = (to: Map<string, string[]>, key: string, name: string) => {
    const names = to.get(key);
    if (names === undefined) to.set(key, [name]);
    else names.push(name);
  };
  for (const { name = '', labels = {}, annotations } of items) {
    const pool = recordedPool(annotations?.[RECORD_ANNOTATION]);
    if (pool !== undefined) add(recorded, pool, name);
    else
      for (const key in labels)
        if (key.startsWith(ROLE_PREFIX) && labels[key] === '') add(roles, key.slice(ROLE_PREFIX.length), name);
  }
  return { ...namesOf(items), recorded: Object.fromEntries(recorded), roles: Object.fromEntries(roles) };
}

/** Of a record whose pool alone is wanted. */
function recordedPool(raw = ''): string | undefined {
  try {
    const json: unknown = JSON.parse(raw);
    return isObject(json) && typeof json.pool === 'string' ? json.pool : undefined;
  } catch {
    return undefined;
  }
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

function itemsOf(text: string): Record<string, unknown>[] {
  const { items }: { items?: unknown } = JSON.parse(text);
  return (Array.isArray(items) ? items : []).filter(isObject);
}
