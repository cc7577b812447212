import assert from 'node:assert/strict';
import { test } from 'node:test';
import { place } from '../../../src/scheduling/place.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import type { Pod } from '../../../src/scheduling/types.ts';
import { taint } from '../nodepool/fixtures.ts';
import { asks, pod, site, snapshot } from './fixtures.ts';

const WEB = { matchLabels: { app: 'web' } };
const spread = (topologyKey: string, maxSkew = 1): RawPodSpec => ({
  topologySpreadConstraints: [{ maxSkew, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: WEB }],
});
const affinity = (kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string): RawPodSpec => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: WEB }] } },
});
const HOST = 'kubernetes.io/hostname';

const NODES = [
  site('a1', { labels: { zone: 'a' } }),
  site('a2', { labels: { zone: 'a' } }),
  site('b1', { labels: { zone: 'b' } }),
  site('t1', { labels: { zone: 'c' }, taints: [taint('gpu:NoSchedule')] }),
];
const ALL = NODES.map(({ name }) => name);

const CASES: [string, RawPodSpec, [string, Pod][], string[], number, number][] = [
  ['the maximum of pods of each node limits the replicas', {}, [], ALL, 30, 30],
  ['free CPU limits the replicas', asks({ cpu: '1500m' }), [], ALL, 6, 6],
  ['running pods leave room for fewer replicas', asks({ cpu: '1' }), [['a1', pod(asks({ cpu: '3500m' }))]], ALL, 8, 8],
  ['only the given nodes take replicas', asks({ cpu: '1' }), [], ['a1', 'b1'], 8, 8],
  ['places nothing if no node has room', asks({ cpu: '5' }), [], ALL, 0, 0],
  ['a host port allows one replica per node', { containers: [{ ports: [{ hostPort: 80 }] }] }, [], ALL, 3, 3],
  ['anti-affinity by host allows one replica per node', affinity('podAntiAffinity', HOST), [], ALL, 3, 3],
  ['anti-affinity by zone allows one pod per zone', affinity('podAntiAffinity', 'zone'), [['b1', pod()]], ALL, 1, 1],
  [
    'with affinity by zone, all replicas follow the first one into its zone',
    affinity('podAffinity', 'zone'),
    [],
    ALL,
    10,
    20,
  ],
  [
    'with affinity by zone, replicas join the pods that already run',
    affinity('podAffinity', 'zone'),
    [['b1', pod()]],
    ALL,
    9,
    9,
  ],
  // The zone of the node with a taint counts, and takes no pod.
  ['a zone whose node takes no pod limits the spread over zones', spread('zone'), [], ALL, 2, 2],
  ['a larger maxSkew allows more replicas', spread('zone', 4), [], ALL, 8, 8],
  [
    'spread over hosts counts only nodes that match the nodeSelector',
    { ...spread(HOST), ...{ nodeSelector: { zone: 'a' } } },
    [],
    ALL,
    20,
    20,
  ],
];

for (const [name, spec, running, nodes, least, most] of CASES) {
  test(name, () => {
    const { bounds, replicas, byNode } = place(pod(spec), nodes, snapshot(NODES, running));
    assert.deepEqual(bounds, { least, most });
    assert.ok(replicas >= least && replicas <= most);
    assert.equal(
      [...byNode.values()].reduce((sum, count) => sum + count, 0),
      replicas,
    );
  });
}

test('stops at the given limit of replicas', () => {
  assert.deepEqual(place(pod(), ALL, snapshot(NODES), 12).replicas, 12);
  const spreading = place(pod(spread(HOST, 5)), ALL, snapshot(NODES), 7);
  assert.deepEqual([spreading.replicas, spreading.bounds], [7, { least: 7, most: 7 }]);
  assert.deepEqual([...spreading.byNode.values()].toSorted(), [2, 2, 3]);
});

test('places 250,000 replicas that spread over 5,001 nodes within seconds', { timeout: 20_000 }, () => {
  const nodes = Array.from({ length: 5_001 }, (_, at) =>
    site(`n${at}`, { labels: { zone: `z${at % 3}` }, allocatable: { cpu: '50', pods: '50' } }),
  );
  const both = [...(spread('zone').topologySpreadConstraints ?? []), ...(spread(HOST).topologySpreadConstraints ?? [])];
  const { replicas, bounds } = place(
    pod({ topologySpreadConstraints: both }),
    nodes.map(({ name }) => name),
    snapshot(nodes),
  );
  assert.ok(replicas > 249_000, `${replicas} replicas`);
  assert.deepEqual(bounds, { least: 5_001, most: 250_050 });
});
