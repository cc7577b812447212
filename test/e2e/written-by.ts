/** Objects as a version of the program wrote them on a real server, in written-by/VERSION.yaml; written and restored. */
import { readFile, writeFile } from 'node:fs/promises';
import { dump, loadAll } from 'js-yaml';
import { API_VERSION } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import type { NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { role, type TestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

/** An object as the server stores it. */
export interface Stored {
  kind: string;
  metadata: { name: string; uid?: string; ownerReferences?: { uid: string; name: string }[]; [field: string]: unknown };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
export const LEASE = `${LEASES}/kubectl-nodepool`;
/** Kind, apiVersion and path, in the order of their creation. */
const KINDS = [
  ['CustomResourceDefinition', 'apiextensions.k8s.io/v1', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
  ['NodePool', API_VERSION, `/apis/${API_VERSION}/nodepools`],
  ['Node', 'v1', '/api/v1/nodes'],
  ['RuntimeClass', 'node.k8s.io/v1', '/apis/node.k8s.io/v1/runtimeclasses'],
  ['Lease', 'coordination.k8s.io/v1', LEASES],
] as const;
/** Set by the server. */
const SERVERS = ['resourceVersion', 'creationTimestamp', 'managedFields', 'generation', 'selfLink'];

/** The nodes before they joined their pools. */
export const NODES: readonly NodeSpec[] = [
  { name: 'gpu-1', labels: { ...role('gpu'), tier: 'mine' }, taints: [{ key: 'own', effect: 'NoSchedule' }] },
  { name: 'gpu-2', labels: role('gpu'), unschedulable: true },
  { name: 'gpu-3', labels: role('gpu'), ready: false },
  { name: 'ml-1', labels: { accelerator: 'tpu' }, taints: [{ key: 'use', value: 'ci', effect: 'NoExecute' }] },
  { name: 'idle', labels: { tier: 'none' } },
  { name: 'shared', labels: { ...role('gpu'), accelerator: 'tpu' } },
  { name: 'strip-1', labels: { ...role('strip'), zone: 'z' }, taints: [{ key: 'foreign', effect: 'NoSchedule' }] },
  { name: 'tiered-1', labels: role('tiered') },
];

/** Runs the program on these nodes and pools, and writes what then is on the server. */
export async function writeObjects(
  t: Parameters<typeof startWatching>[0],
  { cluster, nodes, pool, getPool }: TestEnv,
  folder: URL,
): Promise<void> {
  await nodes(...NODES);
  const taints = [
    { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' as const },
    { key: 'use', effect: 'NoExecute' as const },
  ];
  await pool('gpu', { labels: { tier: 'gold', old: 'yes' }, taints, handler: 'nvidia' });
  await pool('ml', { nodeSelector: { accelerator: 'tpu' }, labels: { team: 'ml' }, taints: taints.slice(1) });
  await pool('strip', { unmanaged: 'Remove', labels: { tier: 'bare' } });
  await pool('tiered', { labels: { 'nodes.lailin.xyz/tier': 'gold' } });
  const watching = await startWatching(t, cluster(), '--leader-elect');
  for (const name of ['gpu', 'ml', 'strip', 'tiered'])
    await eventually(`${name} is reconciled`, async () => (await getPool(name))?.status?.updatedNodeCount);
  await watching.end('SIGTERM');
  const documents: string[] = [];
  for (const [kind, apiVersion, path] of KINDS) {
    const { items } = (await raw(cluster()).expect('GET', path)) as { items: Stored[] };
    for (const { metadata: all, spec, status, ...rest } of items) {
      if (kind === 'Lease' && all.name !== 'kubectl-nodepool') continue;
      const metadata = Object.fromEntries(Object.entries(all).filter(([key]) => !SERVERS.includes(key)));
      const object = { ...rest, apiVersion, kind, metadata, spec, status: status && { ...status, images: undefined } };
      documents.push(dump(object, { skipInvalid: true }));
    }
  }
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  await writeFile(new URL(`${version}.yaml`, folder), documents.join('---\n'));
}

/** Creates the objects, with the UIDs of the new pools. */
export async function restoreObjects(cluster: ControlPlane, text: string): Promise<Stored[]> {
  const api = raw(cluster);
  const objects = loadAll(text) as Stored[];
  const uids = new Map<string | undefined, string>();
  for (const object of objects) {
    const { kind, metadata, status } = object;
    const path = KINDS.find(([known]) => known === kind)?.[2] ?? '';
    const { uid, ...own } = metadata;
    const ownerReferences = metadata.ownerReferences?.map(owner => ({ ...owner, uid: uids.get(owner.uid) ?? '' }));
    const body = { ...object, metadata: { ...own, ...(ownerReferences && { ownerReferences }) } };
    if (kind === 'CustomResourceDefinition') {
      const current = (await api.expect('GET', `${path}/${metadata.name}`)) as Stored;
      const { resourceVersion } = current.metadata;
      await api.expect('PUT', `${path}/${metadata.name}`, { ...body, metadata: { ...own, resourceVersion } });
      continue;
    }
    let made: Stored | undefined;
    // After a change of the CRD the server answers 429, or that it shuts down, until its storage is ready.
    await eventually(`${kind} ${metadata.name} is created`, async () => {
      const answer = await api.request('POST', path, body);
      made = answer.body as Stored;
      const isEarly = answer.status === 429 || answer.status === 503;
      return answer.status === 201 || (!isEarly && Promise.reject(new Error(JSON.stringify(made))));
    });
    uids.set(uid, made?.metadata.uid ?? '');
    if (kind === 'NodePool') await api.expect('PATCH', `${path}/${metadata.name}/status`, { status });
  }
  return objects;
}
