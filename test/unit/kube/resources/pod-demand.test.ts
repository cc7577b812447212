import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api } from '../../../../src/kube/api/api.ts';
import { demandSums, podDemand, type WirePod } from '../../../../src/kube/resources/pod-demand.ts';
import { formatQuantity } from '../../../../src/nodepool/quantity/quantity.ts';

function pod(node: string, cpu: string): WirePod {
  const containers = [{ name: 'c', resources: { requests: { cpu }, limits: { cpu } } }];
  return { metadata: { name: `on-${node}`, namespace: 'team' }, spec: { nodeName: node, containers } };
}

test('sums requests by node, and counts and reports an unreadable pod', () => {
  const sums = demandSums();
  for (const one of [pod('a', '100m'), pod('b', '1'), pod('a', '1e20000'), pod('a', '1')]) sums.add(one);
  const said = [...sums.byNode].map(([name, { pods, requests, limits }]) => {
    const amounts = [requests, limits].map(list => [...list].map(([key, value]) => `${key}=${formatQuantity(value)}`));
    return `${name} ${pods} ${amounts.join(' ')}`;
  });
  assert.deepEqual(said, ['a 3 cpu=1100m cpu=1100m', 'b 1 cpu=1 cpu=1']);
  assert.deepEqual(sums.problems, ['pod team/on-a: quantities have at most 500 digits before the point']);
});

test('counts each pod once when the list restarts', async () => {
  const list: Api['list'] = async (_resource, map, _query, onRestart) => {
    const read = (one: WirePod) => map(one as never);
    read(pod('a', '1'));
    onRestart?.();
    for (const one of [pod('a', '1'), pod('b', '2')]) read(one);
    return [];
  };
  const { byNode } = await podDemand({ list } as Partial<Api> as Api);
  assert.deepEqual(
    [...byNode].map(([name, { pods }]) => `${name} ${pods}`),
    ['a 1', 'b 1'],
  );
});
