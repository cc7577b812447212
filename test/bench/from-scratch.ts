/** Measures a reconcile that applies labels and taints to every node from scratch. */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dueOf, planMerge } from '../../src/nodepool/plan/plan.ts';
import { API_VERSION, type NodePool } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { nodeName } from './cluster.ts';
import { ownBun } from './measure.ts';

export const CONNECTIONS = 32;
const BARE = fileURLToPath(new URL('bare-patches.ts', import.meta.url));

/** A process that sends only the patches of a reconcile from scratch: its command, and its stdin. */
export async function barePatches(cluster: ControlPlane, pools: NodePool[], nodes: number) {
  const patches = Array.from({ length: nodes }, (_, index) => {
    const pool = pools[index % pools.length];
    const name = nodeName(index);
    const node = { name, uid: '', resourceVersion: '', creationTimestamp: '', labels: {}, taints: [] };
    const plan = planMerge({ ...node, ready: true, unschedulable: false, allocatable: {} }, undefined, pool);
    const patch = dueOf(plan)?.patch;
    const metadata = { labels: patch?.labels, annotations: { 'nodes.lailin.xyz/applied': patch?.record } };
    return { name, body: { metadata, spec: { taints: patch?.taints } } };
  });
  return bareProcess(cluster, 'bare-patches', { lists: false, patches });
}

/** A process that lists all nodes, and sends the patches that repair what drift() has changed: its command, and its stdin. */
export async function bareRepairs(cluster: ControlPlane) {
  const patches = DRIFTED.map(name => ({ name, body: { metadata: { labels: TIER } } }));
  // Bun starts faster than Node, which sends thousands of patches faster.
  return bareProcess(cluster, 'bare-repairs', { lists: true, patches }, await ownBun());
}

async function bareProcess(
  cluster: ControlPlane,
  name: string,
  order: { lists: boolean; patches: object[] },
  runtime = process.execPath,
) {
  const { server, ca, admin } = cluster;
  const stdin = join(cluster.dir, `${name}.json`);
  await writeFile(stdin, JSON.stringify({ server, ca, ...admin, connections: CONNECTIONS, ...order }));
  return { command: [runtime, BARE], stdin };
}

/** A few nodes of many, and a label that every pool of benchPools() sets. */
const DRIFTED = Array.from({ length: 50 }, (_, index) => nodeName(index));
const TIER = { 'example.com/tier': 'gold' };

export async function drift(cluster: ControlPlane): Promise<void> {
  const body = { metadata: { labels: { 'example.com/tier': 'by-hand' } } };
  for (const name of DRIFTED) await raw(cluster).expect('PATCH', `/api/v1/nodes/${name}`, body);
}

/** Seconds of a whole `kubectl-nodepool reconcile`, and its output. */
export function timeReconcile(cluster: ControlPlane, command: [string, ...string[]]) {
  const [program, ...args] = command;
  return timed(program, [...args, 'reconcile', '--concurrency', String(CONNECTIONS)], cluster);
}

/** Removes what both applied, so that the next round starts from scratch. */
export async function reset(cluster: ControlPlane, pools: NodePool[], nodes: number): Promise<void> {
  const client = raw(cluster);
  const annotations = { 'nodes.lailin.xyz/applied': null };
  const bodies = pools.map(({ spec }) => {
    const labels = Object.fromEntries(Object.keys(spec.labels ?? {}).map(key => [key, null]));
    return { metadata: { labels, annotations }, spec: { taints: null } };
  });
  const queue = Array.from({ length: nodes }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const index of queue) {
        await client.expect('PATCH', `/api/v1/nodes/${nodeName(index)}`, bodies[index % bodies.length]);
      }
    }),
  );
}

/** Recreates every pool without status, finalizer or RuntimeClass. */
export async function recreatePools(cluster: ControlPlane, pools: NodePool[]): Promise<void> {
  const client = raw(cluster);
  const path = `/apis/${API_VERSION}/nodepools`;
  for (const pool of pools) {
    const { name } = pool.metadata;
    const found = await client.request('GET', `${path}/${name}`);
    if (found.status === 200) {
      await client.expect('PATCH', `${path}/${name}`, { metadata: { finalizers: [] } });
      await client.expect('DELETE', `${path}/${name}`);
      await client.request('DELETE', `/apis/node.k8s.io/v1/runtimeclasses/node-pool-${name}`);
    }
    await client.expect('POST', path, pool);
  }
}

/** Another label, and a taint that evicts every pod of createBenchPods(). */
export async function editBenchPools(cluster: ControlPlane, pools: NodePool[]): Promise<void> {
  for (const { metadata, spec } of pools) {
    const taints = [...(spec.taints ?? []), { key: 'maintenance', effect: 'NoExecute' }];
    const labels = { 'example.com/tier': 'silver' };
    await raw(cluster).expect('PATCH', `/apis/${API_VERSION}/nodepools/${metadata.name}`, { spec: { labels, taints } });
  }
}

/** Write requests so far by the server's metrics, without Leases and those of the benchmark. */
export async function countWrites(cluster: ControlPlane): Promise<number> {
  const { body } = await raw(cluster).request('GET', '/metrics');
  return String(body)
    .split('\n')
    .filter(line => line.startsWith('apiserver_request_total{'))
    .filter(line => /verb="(POST|PUT|PATCH|DELETE|APPLY)"/.test(line) && !line.includes('resource="leases"'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

interface Timed {
  seconds: number;
  stdout: string;
}

function timed(program: string, args: string[], cluster: ControlPlane): Promise<Timed> {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NO_COLOR: '1' };
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', chunk => {
      stdout += chunk;
    });
    child.on('error', reject);
    child.on('close', code => {
      const seconds = (performance.now() - start) / 1000;
      if (code === 0) resolve({ seconds, stdout });
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code}\n${stdout}`));
    });
  });
}
