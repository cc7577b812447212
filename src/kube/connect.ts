/** Entry point of kube/: a connection to one cluster as one user, and the ports that use it. */
import { hostname } from 'node:os';
import { systemClock } from '../controller/clock.ts';
import type { LeasePort } from '../controller/leader-election.ts';
import type { ReviewPort } from '../controller/metrics-readers.ts';
import { defined } from '../nodepool/json.ts';
import type { DatedNode } from '../nodepool/managed-fields.ts';
import { Api, type ServerFacts } from './api/api.ts';
import type { Terminal } from './auth/auth-info.ts';
import { loadCredentials, watchedLogin } from './auth/credentials.ts';
import { type AccessOptions, loadAccess } from './auth/kubeconfig.ts';
import type { ClusterPort } from './cluster.ts';
import { controllerRevisionsClient } from './resources/controller-revisions.ts';
import { type CrdPort, crdPort } from './resources/crd.ts';
import type { DoctorPort } from './resources/doctor.ts';
import { commandOn, controllerOn, type EventsPort, eventsPort, eventWriter } from './resources/events.ts';
import type { ImpactPort } from './resources/impact.ts';
import { KeptAnnotations } from './resources/kept-annotations.ts';
import { leasePort } from './resources/leases.ts';
import type { MaintenancePort } from './resources/maintenance.ts';
import { type ManifestsPort, manifestsPort } from './resources/manifests.ts';
import { nodePoolsClient } from './resources/node-pools.ts';
import {
  type AnnotatedNodes,
  annotatedNodes,
  datedNode,
  type LabelledNode,
  nodeLabels,
  nodeObject,
  nodesClient,
  type RawNode,
} from './resources/nodes.ts';
import { countPods, type NodeUsage, type PodsPort, type PodUsage, watchPods } from './resources/pods.ts';
import { runtimeClassesClient } from './resources/runtime-classes.ts';
import type { SchedulingPort } from './resources/scheduling.ts';
import type { WorkloadsPort } from './resources/workloads.ts';
import { type RequestLog, userAgent } from './transport/request-log.ts';
import { Transport } from './transport/transport.ts';

export interface ConnectionOptions extends AccessOptions {
  /** Limit of one request in milliseconds; 0 means none. Default: 30,000. */
  requestTimeoutMs?: number;
  /** Maximum number of requests in flight, without leases and watches. Default: 32. */
  concurrency?: number;
  /** Limit of every login except the first, in milliseconds. Default: none. */
  loginLimitMs?: number;
  /** Called with every line and its level (0: warnings). Decides which lines to print. */
  log: RequestLog;
  /** Called for every response, and for every request that got no response. */
  onRequest?: (code: string, method: string, host: string) => void;
  /** Called right before each write, except of leases; the write fails if this returns false. */
  mayWrite?: () => boolean;
  /** The server only validates each write. */
  dryRun?: boolean;
  /** Called after the first request was sent: work done here costs no time, as the server takes longer. */
  meanwhile?: () => void;
  /** Annotations of nodes to read in addition to those of pools in the cluster: pools in files set them. */
  annotations?: readonly string[];
  /** More keys of transient states: see transient-states.ts. */
  transientKeys?: readonly string[];
  /** The terminal for interactive logins. Default: none. */
  terminal?: Terminal;
  /** This program's version, for the User-Agent. */
  version: string;
}

/** All clients of one cluster as one user. */
export interface Connection {
  cluster: ClusterPort;
  events: EventsPort;
  crd: CrdPort;
  manifests: ManifestsPort;
  pods: PodsPort;
  /** The name and labels of each node; reads only metadata. @param labelSelector default: every node */
  nodeLabels(labelSelector?: string): Promise<LabelledNode[]>;
  /** All nodes, and the annotations of each that `adopt` may take over. */
  annotatedNodes(): Promise<AnnotatedNodes>;
  /** A node exactly as the server sent it. */
  nodeObject(name: string): Promise<RawNode | undefined>;
  /** A node with the managers and times of its fields. Undefined if it does not exist. */
  datedNode(name: string): Promise<DatedNode | undefined>;
  /** Usage of nodes from metrics.k8s.io. Never rejects if there are no metrics. @param signal ends the wait */
  nodeUsage(signal: AbortSignal): Promise<NodeUsage>;
  /** The same for all pods. */
  podUsage(signal: AbortSignal): Promise<PodUsage>;
  scheduling(): Promise<SchedulingPort>;
  impact(): Promise<ImpactPort>;
  workloads(): Promise<WorkloadsPort>;
  /** A coordination.k8s.io Lease. */
  lease(namespace: string, name: string): LeasePort;
  /** Who may read the metrics. */
  readerReviews(): Promise<ReviewPort>;
  doctor(): Promise<DoctorPort>;
  maintenance(): Promise<MaintenancePort>;
  /** The server's git version, as `v1.36.3`. */
  serverVersion(): Promise<string>;
  serverFacts(): Promise<ServerFacts>;
  /** Context of the kubeconfig; undefined with --cluster alone, and in a pod. */
  contextName: string | undefined;
  /** Name of the cluster in the kubeconfig. */
  clusterName: string;
  /** The same connection with dryRun: the server only validates its writes. */
  dryRun(): Connection;
  /** Closes the sockets, so that the process can end. */
  close(): void;
}

/** Reads the kubeconfig. The first request opens the first socket. Throws NodepoolError. */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const { requestTimeoutMs, loginLimitMs: limitMs, concurrency, log, env, version } = options;
  const { onRequest, mayWrite, meanwhile, terminal, transientKeys } = options;
  const access = loadAccess(options);
  const place = userAndHost(options.env);
  const ended = new AbortController();
  const surroundings = { env, signal: ended.signal, log, ...defined({ terminal }) };
  const login = { user: access.user, limitMs, clock: systemClock, log };
  const transport = new Transport({
    access,
    credentials: watchedLogin(() => loadCredentials(access, surroundings), login),
    userAgent: userAgent(version, process.platform, process.arch),
    ...defined({ concurrency, deadlineMs: requestTimeoutMs, onRequest, mayWrite, meanwhile }),
    env,
    clock: systemClock,
    log,
  });
  const now = () => new Date();
  const kept = new KeptAnnotations(options.annotations);
  const clientsOf = (api: Api): Connection => ({
    cluster: {
      isDryRun: api.dryRun,
      nodes: nodesClient(api, transport, kept),
      pools: nodePoolsClient(api, transport, kept),
      runtimeClasses: runtimeClassesClient(api, transport),
      revisions: controllerRevisionsClient(api),
      createEvent: eventWriter(api, { hostname: place, now }),
      evictions: async removal => (await import('./resources/evictions.ts')).evictionsClient(api, removal),
      ...(transientKeys === undefined ? {} : { rules: { transient: transientKeys } }),
    },
    events: eventsPort(api, transport, access.isInCluster ? controllerOn(hostname()) : commandOn(place)),
    crd: crdPort(api, systemClock),
    manifests: manifestsPort(api),
    pods: {
      countByNode: () => countPods(api),
      watch: () => watchPods(transport),
      rows: async (nodes, most) => (await import('./resources/pods.ts')).podRows(api, nodes, most),
      placedOn: async nodes => (await import('./resources/pods.ts')).podsOn(api, nodes),
      demand: async (nodes, eachPod) => (await import('./resources/pod-demand.ts')).podDemand(api, nodes, eachPod),
    },
    nodeLabels: labelSelector => nodeLabels(api, labelSelector),
    annotatedNodes: () => annotatedNodes(api, kept),
    nodeObject: name => nodeObject(api, name),
    datedNode: name => datedNode(api, kept, name),
    nodeUsage: async signal => (await import('./resources/metrics.ts')).nodeUsage(transport, signal),
    podUsage: async signal => (await import('./resources/metrics.ts')).podUsage(transport, signal),
    scheduling: async () => (await import('./resources/scheduling.ts')).schedulingPort(api, transport),
    impact: async () => (await import('./resources/impact.ts')).impactPort(api),
    workloads: async () => (await import('./resources/workloads.ts')).workloadsPort(api),
    lease: (namespace, name) => leasePort(api, transport, namespace, name),
    readerReviews: async () => (await import('./api/access-reviews.ts')).reviewPort(api),
    doctor: async () => (await import('./resources/doctor.ts')).doctorPort(transport, api, kept, systemClock, now),
    maintenance: async () => (await import('./resources/maintenance.ts')).maintenancePort(api, transport),
    serverVersion: () => api.serverVersion(),
    serverFacts: () => api.serverFacts(),
    contextName: access.context,
    clusterName: access.cluster.name,
    dryRun: () => clientsOf(new Api(transport, now, true)),
    close: () => {
      ended.abort();
      transport.close();
    },
  });
  return clientsOf(new Api(transport, now, options.dryRun));
}

/** `alice@laptop`, for Events of commands that a person or script runs. */
function userAndHost({ USER, LOGNAME, USERNAME }: AccessOptions['env']): string {
  const user = USER || LOGNAME || USERNAME;
  return user ? `${user}@${hostname()}` : hostname();
}
