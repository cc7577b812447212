/** Names for completion: metadata alone, over the same transport, and none of what writes or watches. */
import { systemClock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { isObject } from '../nodepool/json.ts';
import type { Names, NamesPort } from '../operations/names-port.ts';
import { loadCredentials } from './credentials.ts';
import { type Access, type AccessOptions, accessNames, loadAccess } from './kubeconfig.ts';
import type { UserEntry } from './kubeconfig-file.ts';
import { requestPage } from './page.ts';
import { NO_TERMINAL } from './proof.ts';
import { decodeMetadata, type NamedLabels, PROTOBUF } from './protobuf/objects.ts';
import { NODE_POOLS, NODES, type Resource } from './resource.ts';
import { Transport } from './transport.ts';
import { userAgent } from './user-agent.ts';

/** The server leaves out spec and status: meta.k8s.io/v1 of the API's concepts, "Metadata-only fetches". */
const AS_METADATA = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const ACCEPT = `${PROTOBUF};${AS_METADATA}, application/json;${AS_METADATA}`;

/** Their tools answer or fail by themselves; they never ask a person, whatever interactiveMode says. */
const QUIET_PLUGINS = ['aws', 'aws-iam-authenticator', 'doctl', 'gke-gcloud-auth-plugin'];

export interface NamesOptions extends AccessOptions {
  /** This program's version, for the User-Agent. */
  version: string;
}

/** Reads files only when it is asked; each list() opens a connection and ends it. */
export function namesPort(options: NamesOptions): NamesPort {
  let loaded: Access | undefined;
  const access = () => {
    loaded ??= loadAccess(options);
    return loaded;
  };
  return {
    access: () => accessNames(options),
    identity() {
      const { cluster, user, source } = access();
      return JSON.stringify([cluster.server, user.name, user.as ?? '', source]);
    },
    isQuiet: () => isQuiet(access().user),
    list: (kind, timeoutMs) => list(kind === 'pools' ? NODE_POOLS : NODES, access(), timeoutMs, options),
  };
}

/** A browser that opens, or a question, at the press of a key is worse than no names. */
function isQuiet({ exec, authProvider }: UserEntry): boolean {
  if (authProvider !== undefined) return false;
  if (exec === undefined || exec.interactiveMode === 'Never') return true;
  const command = String(exec.command)
    .replace(/^.*[/\\]/, '')
    .replace(/\.exe$/, '');
  return exec.interactiveMode !== 'Always' && QUIET_PLUGINS.includes(command);
}

async function list(
  resource: Resource,
  access: Access,
  deadlineMs: number,
  { env, version }: NamesOptions,
): Promise<Names> {
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
