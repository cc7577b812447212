/** DoctorPort: the requests of `doctor`. */
import type { Clock } from '../../controller/clock.ts';
import type { Node } from '../../nodepool/types.ts';
import { type AccessQuestion, isAllowed, type ReviewSubject } from '../api/access-reviews.ts';
import type { Api } from '../api/api.ts';
import { NODES, SELF_REVIEWS } from '../api/resource.ts';
import { parseStatus } from '../api/status.ts';
import type { ClusterAccess } from '../auth/kubeconfig.ts';
import type { NodesClient } from '../cluster.ts';
import { examinedNodeDecoder } from '../protobuf/nodes.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeptAnnotations, WireNode } from './kept-annotations.ts';
import { toNode } from './nodes.ts';

const VERSION = { path: '/version' };

/** @param now the wall clock, for comparison with the server's */
export function doctorPort(
  transport: Transport,
  api: Api,
  kept: KeptAnnotations,
  clock: Clock,
  now: () => Date,
): DoctorPort {
  const examinedNodes = { ...NODES, decode: kept.decoder(examinedNodeDecoder) };
  return {
    access: accessFacts(transport.access),
    async probe() {
      // Opens the connection and may log in, so the latency is that of the next request.
      const opening = await transport.request(VERSION);
      const ours = now();
      const start = clock.now();
      const mayAsk = opening.status !== 403;
      const version = mayAsk ? await api.serverVersion() : undefined;
      if (!mayAsk) await transport.request(VERSION);
      const latencyMs = clock.now() - start;
      const server = new Date(opening.headers.date ?? '');
      return {
        version,
        latencyMs,
        clocks: Number.isNaN(server.getTime()) ? undefined : { server, ours },
        isAnonymous: await isAnonymous(api),
      };
    },
    allowed: (questions, subject) => Promise.all(questions.map(question => isAllowed(api, question, subject))),
    nodes: {
      list: labelSelector => api.list(examinedNodes, (node: WireNode) => toExaminedNode(node, kept), { labelSelector }),
    },
  };
}

/** Every authenticated user may send this review. */
async function isAnonymous(api: Api): Promise<boolean> {
  const { status, text } = await api.sendReview(SELF_REVIEWS);
  return status === 403 && parseStatus(text)?.message.includes('User "system:anonymous"') === true;
}

function accessFacts({ context, cluster, user, source }: ClusterAccess): AccessFacts {
  return {
    context,
    cluster: cluster.name,
    server: cluster.server,
    user: user.name,
    source,
    verifiesServer: cluster.server.startsWith('https:') && !cluster.skipTlsVerify,
  };
}

function toExaminedNode(node: WireNode, kept: KeptAnnotations): ExaminedNode {
  const { runtimeHandlers } = node.status ?? {};
  return {
    ...toNode(node, kept),
    handlers: runtimeHandlers?.map(({ name = '' }) => name),
  };
}

/** The cluster, the user, and where both are configured. */
export interface AccessFacts {
  /** Undefined with --cluster alone, and in a pod. */
  context: string | undefined;
  cluster: string;
  server: string;
  /** Empty for anonymous. */
  user: string;
  /** Kubeconfig files, or `the service account`. */
  source: string;
  /** False with insecure-skip-tls-verify, and over http. */
  verifiesServer: boolean;
}

export interface ServerProbe {
  /** As `v1.36.3`; undefined if this user may not read it. */
  version: string | undefined;
  /** Latency of one request on an open connection. */
  latencyMs: number;
  /** Time of a response by the server's clock (to the second) and the local clock; undefined without a Date header. */
  clocks: { server: Date; ours: Date } | undefined;
  /** The server accepted no credentials of this user: requests run as system:anonymous, without permissions. */
  isAnonymous: boolean;
}

export interface ExaminedNode extends Node {
  /** Names of runtime handlers, "" is the default; undefined if not reported (kubelet before 1.31, some runtimes). */
  handlers: string[] | undefined;
}

export interface DoctorPort {
  access: AccessFacts;
  /** Throws NodepoolError if there is no response, or one that an authenticated user would not get. */
  probe(): Promise<ServerProbe>;
  /** Whether each is allowed, in the same order. Reviews of another user require an additional permission. */
  allowed(questions: readonly AccessQuestion[], subject?: ReviewSubject): Promise<boolean[]>;
  nodes: Pick<NodesClient<ExaminedNode>, 'list'>;
}
