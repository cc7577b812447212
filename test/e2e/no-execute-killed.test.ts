/**
 * `noExecute: Drain` killed after any write, evictions included: the next run ends in the same state, with as many writes. The
 * kill is simulated: after the Nth response to a write nothing more is sent. The server answers the requests that were sent before
 * the next run begins; else that run could evict a pod once more that is just being deleted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { reconcile } from '../../src/commands/shared/reconcile/apply.ts';
import { proposeReconcile } from '../../src/commands/shared/reconcile/propose.ts';
import { systemClock } from '../../src/controller/clock.ts';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { wrapped } from '../override.ts';
import { poolsWithPods } from './draining.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ audit: true });
const pods = poolsWithPods(testEnv);
const TAINT = { key: 'dedicated', value: 'x', effect: 'NoExecute' as const };

class Killed extends Error {}

/** Forwards calls until the Nth write got its response. `answered`: resolves once no request is in flight. */
async function killAfter(writes: number): Promise<{ cluster: ClusterPort; answered(): Promise<unknown> }> {
  const { cluster } = await testEnv.connection();
  let left = writes;
  const sent = new Set<Promise<unknown>>();
  const once =
    <Args extends unknown[], T>(name: string, call: (...args: Args) => Promise<T>) =>
    async (...args: Args) => {
      if (left <= 0) throw new Killed();
      const response = call(...args);
      sent.add(response);
      const result = await response.finally(() => sent.delete(response));
      if (!/\.(list|get|heads|podsOn)/.test(name) && --left <= 0) throw new Killed();
      return result;
    };
  return {
    cluster: {
      ...wrapped(cluster, once as never),
      async evictions() {
        const client = await cluster.evictions();
        return { ...client, podsOn: once('pods.podsOn', client.podsOn), evict: once('pods.evict', client.evict) };
      },
    },
    answered: () => Promise.allSettled(sent),
  };
}

async function run(cluster: ClusterPort): Promise<'done' | 'killed'> {
  const deps = { cluster, now: () => new Date(), clock: systemClock, sleep: (ms: number) => sleep(ms), warn: () => {} };
  try {
    const proposed = await proposeReconcile([], { ...(await testEnv.connection()), cluster });
    await reconcile(proposed, { ...deps, concurrency: 1 });
    return 'done';
  } catch (error) {
    if (error instanceof Killed) return 'killed';
    throw error;
  }
}

/** A member that gets the taint, and one that joins; both with a pod. */
async function prepare(): Promise<void> {
  await testEnv.clean();
  await testEnv.nodes({ name: 'busy', labels: role('web') }, { name: 'joins' });
  await testEnv.pool('web', { noExecute: 'Drain', labels: { tier: 'x' } });
  await testEnv.reconcile();
  await testEnv.patchNode('joins', { metadata: { labels: role('web') } });
  await testEnv.edit('web', { spec: { taints: [TAINT] } });
  await pods.pod({ name: 'p', node: 'busy', graceSeconds: 0 });
  await pods.pod({ name: 'r', node: 'joins', graceSeconds: 0 });
}

async function endState() {
  const nodes = await Promise.all(
    ['busy', 'joins'].map(async name => {
      const node = await testEnv.node(name);
      return [name, taintsOf(node), node.metadata.annotations?.[RECORD_ANNOTATION]];
    }),
  );
  return { nodes, pods: await pods.names() };
}

/** Of nodes and pods, since the line of the audit log. */
async function writesSince(start: number) {
  const events = (await readAudit(testEnv.cluster())).slice(start).filter(isWrite);
  const count = (resource: string, verb: string) =>
    events.filter(event => event.resource === resource && event.verb === verb && event.code < 300).length;
  return { nodes: count('nodes', 'patch'), evictions: count('pods/eviction', 'create') };
}

test('the next run continues after a kill at any write', { timeout: 300_000 }, async () => {
  await prepare();
  let start = (await readAudit(testEnv.cluster())).length;
  assert.equal(await run((await testEnv.connection()).cluster), 'done');
  const [expected, writes] = [await endState(), await writesSince(start)];
  assert.deepEqual(
    [expected.nodes.map(([, taints]) => taints), expected.pods],
    [[['dedicated=x:NoExecute'], ['dedicated=x:NoExecute']], []],
  );
  // A stand-in and a taint for each node.
  assert.deepEqual(writes, { nodes: 4, evictions: 2 });
  for (let kills = 1; ; kills++) {
    await prepare();
    start = (await readAudit(testEnv.cluster())).length;
    const { cluster, answered } = await killAfter(kills);
    const first = await run(cluster);
    await answered();
    if (first === 'done') {
      assert.ok(kills > 6, `${kills}`);
      return;
    }
    assert.equal(await run((await testEnv.connection()).cluster), 'done');
    assert.deepEqual([await endState(), await writesSince(start)], [expected, writes], `killed after write ${kills}`);
  }
});
