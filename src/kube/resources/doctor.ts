/** DoctorPort: requests for `doctor`. */
import type { Clock } from '../../controller/clock.ts';
import { isAllowed } from '../api/access-reviews.ts';
import type { Api } from '../api/api.ts';
import { NODES } from '../api/resource.ts';
import { parseStatus } from '../api/status.ts';
import type { Access } from '../auth/kubeconfig.ts';
import type { AccessFacts, DoctorPort, ExaminedNode } from '../ports/doctor.ts';
import { examinedNodeDecoder } from '../protobuf/nodes.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeptAnnotations, WireNode } from './kept-annotations.ts';
import { toNode } from './nodes.ts';

const VERSION = { path: '/version' };
const WHO_AM_I = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

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
        isAnonymous: await isAnonymous(transport),
      };
    },
    allowed: (questions, subject) => Promise.all(questions.map(question => isAllowed(api, question, subject))),
    nodes: {
      list: labelSelector => api.list(examinedNodes, (node: WireNode) => toExaminedNode(node, kept), { labelSelector }),
    },
  };
}

/** Every user who is known may ask who that is. */
async function isAnonymous(transport: Transport): Promise<boolean> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { status, text } = await transport.request({ method: 'POST', path: WHO_AM_I, body, replayable: true });
  return status === 403 && parseStatus(text)?.message.includes('User "system:anonymous"') === true;
}

function accessFacts({ context, cluster, user, source }: Access): AccessFacts {
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
