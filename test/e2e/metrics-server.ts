/**
 * An extension API server for metrics.k8s.io, as small as can be: it answers as metrics-server does, with figures that a
 * test chooses, behind the real API server's aggregation.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PROTOBUF } from '../../src/kube/protobuf/objects.ts';
import { serverCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { encode, envelope } from '../unit/kube/protobuf/encode.ts';
import { eventually } from './watching.ts';

const SERVICES = '/api/v1/namespaces/default/services';
const API_SERVICE = '/apis/apiregistration.k8s.io/v1/apiservices';
const NAME = 'v1beta1.metrics.k8s.io';
const GROUP_VERSION = 'metrics.k8s.io/v1beta1';

export type NodeUsage = Record<string, Record<string, string>>;

export interface MetricsServer {
  usage: NodeUsage;
  /** By `namespace/name`, of one container each. */
  podUsage: NodeUsage;
  /** How it answers requests for nodes. */
  mood: 'answers' | 'hangs' | 'fails';
  /** Stops the server; the objects in the API server stay. */
  stop(): void;
}

/** Resolves when the API server finds it available. */
export async function startMetricsServer(cluster: ControlPlane, usage: NodeUsage): Promise<MetricsServer> {
  const api = raw(cluster);
  const { authority, ca } = cluster;
  const state: Omit<MetricsServer, 'stop'> = { usage, podUsage: {}, mood: 'answers' };
  const server = createServer(
    serverCertificate(authority, ['metrics.default.svc']),
    ({ url = '', headers }, response) => {
      const inProtobuf = headers.accept?.includes(PROTOBUF) ?? false;
      if (url.startsWith(`/apis/${GROUP_VERSION}/nodes`)) answerList(state, 'NodeMetricsList', inProtobuf, response);
      else if (url.startsWith(`/apis/${GROUP_VERSION}/pods`)) answerList(state, 'PodMetricsList', inProtobuf, response);
      else if (url.startsWith(`/apis/${GROUP_VERSION}`)) answer(response, 200, RESOURCES);
      else answer(response, 404, {});
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // An external name: the API server connects to it without cluster networking.
  await api.expect('POST', SERVICES, {
    metadata: { name: 'metrics' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  await api.expect('POST', API_SERVICE, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: NAME },
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      service: { namespace: 'default', name: 'metrics', port },
      caBundle: Buffer.from(ca).toString('base64'),
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  });
  await eventually('the metrics API is available', async () => {
    const { status } = await api.request('GET', `/apis/${GROUP_VERSION}/nodes`);
    return status === 200;
  });
  return Object.assign(state, {
    stop() {
      server.closeAllConnections();
      server.close();
    },
  });
}

const RESOURCES = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: GROUP_VERSION,
  resources: [
    { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
    { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
  ],
};

type Kind = 'NodeMetricsList' | 'PodMetricsList';

function answerList(
  { usage, podUsage, mood }: Omit<MetricsServer, 'stop'>,
  kind: Kind,
  inProtobuf: boolean,
  response: ServerResponse,
): void {
  if (mood === 'hangs') return;
  const all = Object.entries(kind === 'NodeMetricsList' ? usage : podUsage);
  if (mood === 'answers' && inProtobuf) {
    response.writeHead(200, { 'content-type': PROTOBUF });
    response.end(protobufOf(kind, all));
    return;
  }
  const timestamp = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const items = all.map(([key, used]) => {
    const { namespace, name } = namesOf(key);
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), creationTimestamp: timestamp };
    const its = kind === 'NodeMetricsList' ? { usage: used } : { containers: [{ name: 'main', usage: used }] };
    return { metadata, timestamp, window: '10.1s', ...its };
  });
  if (mood === 'answers') answer(response, 200, { kind, apiVersion: GROUP_VERSION, metadata: {}, items });
  else
    answer(response, 500, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'no scrape yet', code: 500 });
}

function namesOf(key: string): { namespace: string | undefined; name: string } {
  const [name = '', namespace] = key.split('/').toReversed();
  return { namespace, name };
}

/** With labels, as metrics-server copies them from the node or the pod. */
function protobufOf(kind: Kind, all: [string, Record<string, string>][]): Buffer {
  const items = all.map(([key, used]) => {
    const { namespace, name } = namesOf(key);
    const amounts = Object.entries(used).map(([resource, quantity]) =>
      encode({ 1: resource, 2: encode({ 1: quantity }) }),
    );
    const labels = [encode({ 1: 'kubernetes.io/hostname', 2: name })];
    const metadata = encode({ 1: name, ...(namespace === undefined ? {} : { 3: namespace }), 11: labels });
    return encode({ 1: metadata, 4: kind === 'NodeMetricsList' ? amounts : [encode({ 1: 'main', 2: amounts })] });
  });
  return envelope(kind, encode({ 1: encode({}), 2: items }), GROUP_VERSION);
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
