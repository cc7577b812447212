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

const EXAMINED_NODES: Resource = { ...NODES, decode: decodeExaminedNode };
const VERSION = { path: '/version' };

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
      const server = new Date(opening.headers.date ?? '');
      return {
        version,
        latencyMs: clock.now() - start,
        clocks: Number.isNaN(server.getTime()) ? undefined : { server, ours },
      };
    },
    allowed: (questions, subject) => Promise.all(questions.map(question => isAllowed(api, question, subject))),
    nodes: { list: labelSelector => api.list(EXAMINED_NODES, toExaminedNode, { labelSelector }) },
  };
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
