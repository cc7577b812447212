/** Metadata alone of all pools or nodes, over the same transport, and none of what writes or watches. */
import { systemClock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject } from '../nodepool/json.ts';
import type { Names } from '../operations/names-port.ts';
import { loadCredentials } from './credentials.ts';
import type { Access } from './kubeconfig.ts';
import { requestPage } from './page.ts';
import { NO_TERMINAL } from './proof.ts';
import { decodeMetadata, type NamedLabels, PROTOBUF } from './protobuf/objects.ts';
import { NODE_POOLS, NODES, type Resource } from './resource.ts';
import { Transport } from './transport.ts';
import { userAgent } from './user-agent.ts';

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
    const metadata: Resource = { ...resource, decode: decodeMetadata, accept: ACCEPT };
    // From the server's own cache: names of a moment ago will do.
    const { answer, page } = await requestPage(transport, metadata, { resourceVersion: '0' });
    // Who may not see them has none, also of a moment ago; so has a cluster without the resource.
    if ([401, 403, 404].includes(answer.status)) return namesOf([]);
    if (answer.status !== 200) throw new NodepoolError('cluster', `no names of ${resource.plural}: ${answer.status}`);
    return namesOf((page?.items as NamedLabels[] | undefined) ?? itemsOf(answer.text));
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

/** Of a list in JSON, from a server that has no protobuf of it. */
function itemsOf(text: string): NamedLabels[] {
  const { items }: { items?: unknown } = JSON.parse(text);
  return (Array.isArray(items) ? items : []).filter(isObject).map(({ metadata }) => metadata as NamedLabels);
}
