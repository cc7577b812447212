import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demandSums, type WirePod } from '../../../src/kube/pod-demand.ts';
import { formatQuantity } from '../../../src/nodepool/quantity.ts';

function pod(node: string, cpu: string): WirePod {
  const containers = [{ name: 'c', resources: { requests: { cpu }, limits: { cpu } } }];
  return { metadata: { name: `on-${node}`, namespace: 'team' }, spec: { nodeName: node, containers } };
}

test('sums by node; a pod that cannot be read counts as a pod, and is told', () => {
  const sums = demandSums();
  for (const one of [pod('a', '100m'), pod('b', '1'), pod('a', '1e20000'), pod('a', '1')]) sums.add(one);
  const said = [...sums.byNode].map(([name, { pods, requests, limits }]) => {
    const amounts = [requests, limits].map(list => [...list].map(([key, value]) => `${key}=${formatQuantity(value)}`));
    return `${name} ${pods} ${amounts.join(' ')}`;
  });
  assert.deepEqual(said, ['a 3 cpu=1100m cpu=1100m', 'b 1 cpu=1 cpu=1']);
  assert.deepEqual(sums.problems, ['pod team/on-a: quantity with an exponent above 10000']);
});
