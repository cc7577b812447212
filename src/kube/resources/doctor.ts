/** DoctorPort: requests for `doctor`. */
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
      // Opens the connection and may log in: the latency is that of the next request.
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

/** Every user who is known may ask who that is. */
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

/** Which cluster, as whom, and where that is written. */
export interface AccessFacts {
  /** None with --cluster alone, and inside of a cluster. */
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
  /** As `v1.36.3`; undefined when this user may not ask. */
  version: string | undefined;
  /** Of one request on an open connection. */
  latencyMs: number;
  /** When an answer came, by the server's clock, to the second, and by the local one; undefined without a Date header. */
  clocks: { server: Date; ours: Date } | undefined;
  /** The server took no credentials of this user, and answers requests as those of system:anonymous, who may do nothing. */
  isAnonymous: boolean;
}

export interface ExaminedNode extends Node {
  /** Names of runtime handlers, "" for the default one; undefined where the kubelet does not tell (before 1.31, or by its runtime). */
  handlers: string[] | undefined;
}

export interface DoctorPort {
  access: AccessFacts;
  /** Throws NodepoolError when there is no answer, or one that a user who is let in would not get. */
  probe(): Promise<ServerProbe>;
  /** Whether each is allowed, in their order: to this user, or to another, which needs a permission of its own. */
  allowed(questions: readonly AccessQuestion[], subject?: ReviewSubject): Promise<boolean[]>;
  nodes: Pick<NodesClient<ExaminedNode>, 'list'>;
}
