/** DoctorPort: requests for `doctor`. */
import type { Clock } from '../../controller/clock.ts';
import type { AccessFacts, DoctorPort, ExaminedNode } from '../../operations/doctor-port.ts';
import type { Access } from '../auth/kubeconfig.ts';
import { decodeExaminedNode } from '../protobuf/examined-node.ts';
import type { Transport } from '../transport/transport.ts';
import { isAllowed } from './access-reviews.ts';
import type { Api } from './api.ts';
import { toNode, type WireNode } from './nodes.ts';
import { NODES, type Resource } from './resource.ts';
import { parseStatus } from './status.ts';

const EXAMINED_NODES: Resource = { ...NODES, decode: decodeExaminedNode };
const VERSION = { path: '/version' };
const WHO_AM_I = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** @param now the wall clock, for comparison with the server's */
export function doctorPort(transport: Transport, api: Api, clock: Clock, now: () => Date): DoctorPort {
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
    nodes: { list: labelSelector => api.list(EXAMINED_NODES, toExaminedNode, { labelSelector }) },
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

function toExaminedNode(node: WireNode): ExaminedNode {
  return { ...toNode(node), handlers: node.status?.runtimeHandlers?.map(({ name = '' }) => name) };
}
