/** Pools in every state that the report shows, with text of others that would be markup. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { cli, kubectl } from '../cluster/harness.ts';
import { labelNode } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { container, createPods } from './many-pods.ts';
import { role, type TestEnv } from './test-env.ts';

/** In notes, reasons and annotations. */
export const MARKUP = `<script>alert(1)</script><img src=x onerror="alert('2')"> & "quotes" 'too' \u202e</td></table>`;

const GPUS = { cpu: '16', memory: '65536000Ki', pods: '110', 'nvidia.com/gpu': '4' };
const KERNEL = 'kernel upgrade, ticket <OPS-1142>';

/** Pool gpu with drift and a cordoned node, web, late in conflict with gpu, empty; Events of an hour. */
export async function reportSamples(testEnv: TestEnv): Promise<void> {
  const cluster = testEnv.cluster();
  const product = async (...args: string[]) => {
    const { code, stderr } = await cli(cluster, args);
    assert.equal(code, 0, stderr);
  };
  await testEnv.nodes(
    ...[1, 2, 3].map(n => ({ name: `gpu-${n}`, labels: role('gpu'), allocatable: GPUS })),
    ...[1, 2, 3, 4].map(n => ({ name: `web-${n}`, labels: role('web'), ready: n !== 4 })),
    { name: 'spare-1' },
  );
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, taints: [{ key: 'dedicated', effect: 'NoSchedule' }] });
  await testEnv.pool('web', { labels: { tier: 'silver' } });
  await product('reconcile');
  await testEnv.pool('late', { nodeSelector: role('gpu') }, { younger: true });
  await testEnv.pool('empty', { nodeSelector: { none: 'such' } });
  await cli(cluster, ['reconcile']);
  const { code } = await kubectl(cluster, ['label', 'node', 'gpu-1', 'tier=brass', '--overwrite']);
  assert.equal(code, 0);
  await labelNode(cluster, 'web-2', { tier: 'bronze' });
  await product('cordon', 'gpu', '--node', 'gpu-2', '--reason', KERNEL, '--until', '1s');
  const cordoned = Date.now();
  await product('cordon', 'web', '--node', 'web-1', '--reason', 'disk swap', '--until', '2h');
  assert.equal((await kubectl(cluster, ['cordon', 'web-3'])).code, 0);
  const pod = (name: string, requests: Record<string, string>) => ({
    name,
    spec: { containers: [container('main', requests, requests)] },
  });
  await createPods(cluster, 'gpu-1', [pod('train', { cpu: '14', memory: '48Gi', 'nvidia.com/gpu': '4' })]);
  await createPods(cluster, 'web-1', [pod('shop', { cpu: '3900m', memory: '1Gi' })]);
  await createPods(cluster, 'web-2', [pod('shop', { cpu: '1', memory: '1Gi' })]);
  // The report compares with the Date of the server, in whole seconds: gpu-2 is overdue in it.
  await sleep(Math.max(0, cordoned + 3_000 - Date.now()));
  for (const [at, count] of [3, 1, 0, 4, 2, 0, 7, 1, 2, 5].entries()) await events(testEnv, at, count);
}

/** So many Events, `at` times five minutes ago; each third one is a Warning. */
async function events(testEnv: TestEnv, at: number, count: number): Promise<void> {
  const seen = new Date(Date.now() - at * 5 * 60_000).toISOString();
  for (let each = 0; each < count; each++) {
    await raw(testEnv.cluster()).expect('POST', '/api/v1/namespaces/default/events', {
      metadata: { name: `sample.${at}.${each}`, namespace: 'default' },
      involvedObject: { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'gpu' },
      type: each % 3 === 2 ? 'Warning' : 'Normal',
      reason: each === 0 ? MARKUP.slice(0, 120) : 'NodesUpdated',
      message: each === 1 ? MARKUP : '1 node updated (label tier changed from "brass" to "gold" (drift)): gpu-1',
      source: { component: 'nodepool-controller' },
      firstTimestamp: seen,
      lastTimestamp: seen,
      count: 1 + each,
    });
  }
}
