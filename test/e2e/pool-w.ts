/** Pool w with node a, and a proxy that falsifies responses about pools. */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { beforeEach } from 'node:test';
import { type Connection, connect } from '../../src/kube/connect.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { type Asked, isWatch } from '../fault/asked.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { type FaultProxy, startProxy, type Treatment } from '../fault/proxy.ts';
import { role, type TestEnv, useTestEnv } from './test-env.ts';

export const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
export const W = { name: 'w', group: 'nodes.lailin.xyz', kind: 'nodepools' };
const SPEC = { labels: { tier: 'gold' }, taints: [{ key: 'gold', effect: 'NoSchedule' as const }] };

export const isPools = ({ path }: Asked) => path === POOLS;
export const isGet = (asked: Asked) => asked.method === 'GET' && asked.path === `${POOLS}/w`;
export const withoutW = (pools: NodePool[]) => pools.filter(({ metadata }) => metadata.name !== 'w');

export function answer(status: number, body: string, type = 'application/json'): Treatment {
  return ({ client }) => client.writeHead(status, { 'content-type': type }).end(body);
}

export function notFound(details: object, reason = 'NotFound'): Treatment {
  return answer(
    404,
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, details, code: 404 }),
  );
}

interface PoolW {
  testEnv: TestEnv;
  tierOf(node: string): Promise<string | undefined>;
  /** Checks that `act` writes no node, and that node a keeps the values of pool w. */
  kept(act: () => Promise<unknown>): Promise<void>;
  /** `lists` changes the items of lists of pools. */
  startFalsifying(t: { after(fn: () => unknown): void }): Promise<{
    proxy: FaultProxy;
    proxied: Connection;
    lists(change: (pools: NodePool[]) => NodePool[]): () => void;
  }>;
}

export function usePoolW(): PoolW {
  const testEnv = useTestEnv({ audit: true });
  const tierOf = async (node: string) => (await testEnv.node(node)).metadata.labels.tier;

  beforeEach(async () => {
    await testEnv.nodes({ name: 'a', labels: role('w') });
    await testEnv.pool('w', SPEC);
    await testEnv.reconcile();
    assert.equal(await tierOf('a'), 'gold');
  });

  return {
    testEnv,
    tierOf,
    async kept(act) {
      const mark = await auditMark(testEnv.cluster());
      await act();
      const patched = Object.keys(await writes(testEnv.cluster(), mark)).filter(write => write.includes(' nodes '));
      assert.deepEqual(patched, []);
      assert.equal(await tierOf('a'), 'gold');
    },
    async startFalsifying(t) {
      const proxy = await startProxy(testEnv.cluster(), testEnv.cluster().dir);
      const proxied = await connect({ kubeconfig: proxy.kubeconfig, env: {}, log: () => {}, version: '0.0.0-test' });
      t.after(async () => {
        proxied.close();
        await proxy.stop();
      });
      const lists = (change: (pools: NodePool[]) => NodePool[]) =>
        proxy.onRequest(asked => {
          if (!isPools(asked) || isWatch(asked) || asked.method !== 'GET') return undefined;
          return async ({ forward, client }) => {
            const list = JSON.parse(await text(await forward()));
            const body = JSON.stringify({ ...list, items: change(list.items) });
            client.writeHead(200, { 'content-type': 'application/json' }).end(body);
          };
        });
      return { proxy, proxied, lists };
    },
  };
}
