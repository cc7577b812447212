/** Bounds of replicas against every order in which a scheduler could take the nodes of small random clusters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../../src/nodepool/quantity/quantity.ts';
import type { Node } from '../../../src/nodepool/types.ts';
import { Judge } from '../../../src/scheduling/judge.ts';
import { place } from '../../../src/scheduling/place.ts';
import type { RawPod, RawPodSpec, RawVolume } from '../../../src/scheduling/pod/raw-pod.ts';
import { copiedLabels, replicaLabels } from '../../../src/scheduling/spread/replicas.ts';
import type { Pod, ReplicaLabels } from '../../../src/scheduling/types.ts';
import {
  NO_STORAGE,
  readClaim,
  readStorageClass,
  readVolume,
  type Storage,
} from '../../../src/scheduling/volumes/storage.ts';
import { seeded } from '../../fault/random.ts';
import { asks, pod, site, snapshot } from './fixtures.ts';

const CLUSTERS = 5_000;
const WEB = { matchLabels: { app: 'web' } };
const KEYS = ['zone', 'rack', 'kubernetes.io/hostname'];

/** A whole number from 0 up to, not including, this one. */
type Random = (below: number) => number;

interface Case {
  nodes: Node[];
  running: [string, Pod][];
  storage: Storage;
  spec: RawPodSpec;
}

function randomCase(random: Random): Case {
  const key = () => KEYS[random(KEYS.length)] ?? '';
  const useOf = random(5);
  // With volumes, there are more orders to try.
  const cpus = useOf === 0 || useOf === 4 ? 4 : 3;
  const nodes = Array.from({ length: 1 + random(5) }, (_, at) =>
    site(`n${at}`, {
      labels: { zone: `z${random(3)}`, ...(random(4) === 0 ? {} : { rack: `r${random(3)}` }) },
      allocatable: { cpu: `${random(cpus)}`, pods: '10' },
    }),
  );
  const running = nodes.flatMap(({ name }): [string, Pod][] => (random(5) === 0 ? [[name, pod({})]] : []));
  const spec: RawPodSpec = asks({ cpu: '1' });
  if (random(2) === 0) {
    spec.topologySpreadConstraints = Array.from({ length: 1 + random(2) }, () => ({
      maxSkew: 1 + random(2),
      topologyKey: key(),
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: random(6) === 0 ? { matchLabels: { app: 'other' } } : WEB,
      ...(random(5) === 0 ? { minDomains: 3 } : {}),
    }));
  }
  const terms = () =>
    Array.from({ length: 1 + random(2) }, () => ({
      topologyKey: key(),
      labelSelector: WEB,
    }));
  spec.affinity = {
    ...(random(3) === 0 ? { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms() } } : {}),
    ...(random(3) === 0 ? { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms() } } : {}),
  };
  const volumes = Array.from({ length: random(6) }, (_, at) => {
    const on = [nodes, nodes.filter(() => random(2) === 0), nodes.slice(0, 1)][random(3)] ?? [];
    const values = on.map(({ name }) => name);
    return readVolume({
      metadata: { name: `v${at}` },
      spec: {
        storageClassName: 'local',
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: `${1 + random(2)}Gi` },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }],
          },
        },
      },
      status: { phase: 'Available' },
    });
  });
  const size = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const shared = ['local', 'made'][random(2)] ?? '';
  const claim = readClaim({
    metadata: { namespace: 'default', name: 'data' },
    spec: { ...size, storageClassName: shared },
    status: { phase: 'Pending' },
  });
  const volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
  const requests = { storage: `${1 + random(2)}Gi` };
  const template = { spec: { ...size, resources: { requests }, storageClassName: 'local' } };
  const own = { name: 'own', ephemeral: { volumeClaimTemplate: template } };
  if (useOf > 0 && useOf < 4) spec.volumes = [[volume], [own], [volume, own]][useOf - 1] ?? [];
  const storageClass = (name: string, provisioner: string) =>
    readStorageClass({ metadata: { name }, provisioner, volumeBindingMode: 'WaitForFirstConsumer' });
  const storage: Storage = {
    claims: new Map([['default/data', claim]]),
    volumes: new Map(volumes.map(each => [each.name, each])),
    classes: new Map([
      ['local', storageClass('local', 'kubernetes.io/no-provisioner')],
      ['made', storageClass('made', 'csi.example.com')],
    ]),
  };
  return { nodes, running, storage, spec };
}

/** Volumes that replicas have, and where their common claim is. */
interface Bound {
  taken: readonly string[];
  shared?: string;
  /** The node that its volume is made on. */
  madeOn?: string;
}

/** What one more replica on the node may leave, as the scheduler looks at volumes in no order; empty: it takes none. @param isFar whether other nodes reach a volume that is made */
function boundAfter(before: Bound, { name: node }: Node, { storage, spec }: Case, isFar: boolean): Bound[] {
  const reaches = (volume: string) =>
    JSON.stringify(storage.volumes.get(volume)?.nodeTerms).includes(JSON.stringify(node));
  const { shared, madeOn } = before;
  if (shared !== undefined && !reaches(shared)) return [];
  if (madeOn !== undefined && madeOn !== node && !isFar) return [];
  const isBound = shared !== undefined || madeOn !== undefined;
  const claims = (spec.volumes ?? []).filter(({ ephemeral }) => ephemeral !== undefined || !isBound);
  const sizeOf = ({ ephemeral }: RawVolume) => {
    const { storage: size = '1Gi' } = ephemeral?.volumeClaimTemplate?.spec?.resources?.requests ?? {};
    return Number(parseQuantity(size).unscaled);
  };
  let states = [before];
  for (const claim of claims.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
    const isShared = claim.ephemeral === undefined;
    states = states.flatMap((state): Bound[] => {
      if (isShared && storage.claims.get('default/data')?.className === 'made') return [{ ...state, madeOn: node }];
      const open = [...storage.volumes.values()].filter(
        ({ name, size }) => reaches(name) && !state.taken.includes(name) && Number(size.unscaled) >= sizeOf(claim),
      );
      const smallest = Math.min(...open.map(({ size }) => Number(size.unscaled)));
      const chosen = open.filter(({ size }) => Number(size.unscaled) === smallest);
      return chosen.map(({ name }) => ({
        ...state,
        taken: [...state.taken, name].toSorted(),
        ...(isShared ? { shared: name } : {}),
      }));
    });
  }
  return states;
}

/** The fewest and the most replicas of all orders. */
function everyOrder(one: Case, isFar: boolean): { least: number; most: number } {
  const { nodes, running, storage, spec } = one;
  const { volumes: _, ...rest } = spec;
  const asked = pod(rest);
  const where = snapshot(nodes, running, storage);
  const seen = new Map<string, { least: number; most: number }>();
  const rooms = nodes.map(({ name }) => place(pod(asks({ cpu: '1' })), [name], where).replicas);
  const from = (order: readonly number[], bound: Bound): { least: number; most: number } => {
    const id = JSON.stringify([order.toSorted(), bound]);
    const known = seen.get(id);
    if (known !== undefined) return known;
    const judge = new Judge(asked, where);
    for (const at of order) judge.place(nodes[at] as Node);
    let found: { least: number; most: number } | undefined;
    for (const [at, node] of nodes.entries()) {
      if (order.filter(each => each === at).length >= (rooms[at] ?? 0)) continue;
      if (!judge.isAllowed(node.name) || !judge.takesNext(node)) continue;
      for (const after of boundAfter(bound, node, one, isFar)) {
        const { least, most } = from([...order, at], after);
        found = { least: Math.min(found?.least ?? Infinity, least), most: Math.max(found?.most ?? 0, most) };
      }
    }
    const result = found ?? { least: order.length, most: order.length };
    seen.set(id, result);
    return result;
  };
  return from([], { taken: [] });
}

function textOf({ nodes, running, storage, spec }: Case, found: object): string {
  const volumes = [...storage.volumes.values()].map(({ name, nodeTerms, size }) => ({
    name,
    nodeTerms,
    size: `${size.unscaled}`,
  }));
  const sites = nodes.map(({ name, labels, allocatable }) => ({ name, labels, cpu: allocatable.cpu }));
  return JSON.stringify({ ...found, sites, on: running.map(([node]) => node), spec, volumes }, undefined, 1);
}

test('the number of replicas is within the bounds for every order of nodes', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const next = seeded(seed);
  const random: Random = below => Math.floor(next() * below);
  let exact = 0;
  for (let at = 0; at < CLUSTERS; at++) {
    const one = randomCase(random);
    const orders = { least: everyOrder(one, false).least, most: everyOrder(one, true).most };
    const where = snapshot(one.nodes, one.running, one.storage);
    const names = one.nodes.map(({ name }) => name);
    const { bounds } = place(pod(one.spec), names, where);
    assert.ok(bounds.least <= orders.least && orders.most <= bounds.most, textOf(one, { seed, at, bounds, orders }));
    if (bounds.least === orders.least && bounds.most === orders.most) exact++;
  }
  assert.ok(exact / CLUSTERS > 0.8, `${exact} of ${CLUSTERS} are exact`);
});

const INDEX = 'apps.kubernetes.io/pod-index';
const ZONE = 'topology.kubernetes.io/zone';
const REPLICAS = 4;

function zoneOf(node: Node | undefined): Record<string, string> {
  const zone = node?.labels[ZONE];
  return zone === undefined ? {} : { [ZONE]: zone };
}

type Labels = (index: number, node?: Node) => Record<string, string>;

/** A workload whose pods are distinguished by a label. @param labelsOf a replica, and of one that runs on a node */
function randomSet(random: Random, key: string, labelsOf: Labels): Pick<Case, 'nodes' | 'running' | 'spec'> {
  const nodes = Array.from({ length: 1 + random(3) }, (_, at) => {
    const zone = `${random(2)}`;
    const labels = { zone, ...(random(6) === 0 ? {} : { [ZONE]: zone }) };
    return site(`n${at}`, { labels, allocatable: { cpu: `${random(4)}`, pods: '10' } });
  });
  const selector = () => {
    const value = `${random(3)}`;
    const operator = ['In', 'NotIn', 'Exists', 'DoesNotExist'][random(4)] ?? '';
    const matchExpressions = [{ key, operator, values: [value] }];
    return [WEB, { matchLabels: { ...WEB.matchLabels, [key]: value } }, { ...WEB, matchExpressions }][random(3)] ?? WEB;
  };
  // The server takes a key in the selector or in one of these lists.
  const ownKeys = () => [{ matchLabelKeys: [key] }, { mismatchLabelKeys: [key] }][random(2)];
  const rule = (own = ownKeys()) => ({
    topologyKey: ['zone', 'kubernetes.io/hostname'][random(2)] ?? '',
    ...(random(3) === 0 ? { labelSelector: WEB, ...own } : { labelSelector: selector() }),
  });
  const terms = () => ({ requiredDuringSchedulingIgnoredDuringExecution: [rule()] });
  const spec: RawPodSpec = {
    ...asks({ cpu: '1' }),
    affinity: {
      ...(random(2) === 0 ? { podAffinity: terms() } : {}),
      ...(random(2) === 0 ? { podAntiAffinity: terms() } : {}),
    },
    ...(random(3) === 0
      ? {
          topologySpreadConstraints: [
            { ...rule({ matchLabelKeys: [key] }), maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' },
          ],
        }
      : {}),
  };
  const far = { affinity: { podAntiAffinity: terms() } };
  const running = nodes.flatMap((node): [string, Pod][] => {
    if (random(5) !== 0) return [];
    return [
      [
        node.name,
        random(2) === 0 ? pod(far, { labels: { app: 'other' } }) : pod({}, { labels: labelsOf(1 + random(2), node) }),
      ],
    ];
  });
  return { nodes, running, spec };
}

/** How many of the replicas are placed in the end, whichever of them and of the nodes the scheduler takes first. */
function everyTurn({ nodes, running, spec }: Pick<Case, 'nodes' | 'running' | 'spec'>, labelsOf: Labels): Set<number> {
  const [ends, seen] = [new Set<number>(), new Set<string>()];
  const from = (taken: readonly (string | undefined)[]): void => {
    if (seen.has(taken.join())) return;
    seen.add(taken.join());
    const placed = taken.flatMap((name, at): [string, Pod][] => {
      const node = nodes.find(each => each.name === name);
      return node === undefined ? [] : [[node.name, pod(spec, { labels: labelsOf(at, node) })]];
    });
    const where = snapshot(nodes, [...running, ...placed]);
    let isEnd = true;
    for (let at = 0; at < REPLICAS; at++) {
      if (taken[at] !== undefined) continue;
      const judge = new Judge(pod(spec, { labels: labelsOf(at) }), where);
      for (const { name } of nodes) {
        if (judge.whyNot(name).length > 0) continue;
        isEnd = false;
        from(taken.with(at, name));
      }
    }
    if (isEnd) ends.add(placed.length);
  };
  from(Array.from({ length: REPLICAS }, () => undefined));
  return ends;
}

function checkSets(key: string, labelsOf: Labels, replicasOf: (raw: RawPod, nodes: readonly Node[]) => ReplicaLabels) {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const next = seeded(seed);
  const random: Random = below => Math.floor(next() * below);
  for (let at = 0; at < 300; at++) {
    const one = randomSet(random, key, labelsOf);
    const ends = everyTurn(one, labelsOf);
    const raw: RawPod = { metadata: { namespace: 'default', labels: labelsOf(0) }, spec: one.spec };
    const asked = { ...pod(one.spec, { labels: labelsOf(0) }), replicas: replicasOf(raw, one.nodes) };
    const names = one.nodes.map(({ name }) => name);
    const { bounds } = place(asked, names, snapshot(one.nodes, one.running));
    const [least, most] = [Math.min(bounds.least, REPLICAS), Math.min(bounds.most, REPLICAS)];
    const found = { seed, at, bounds, ends: [...ends] };
    const isWithin = [...ends].every(end => least <= end && end <= most);
    assert.ok(isWithin, textOf({ ...one, storage: NO_STORAGE }, found));
  }
}

test('the number of replicas with different labels is within the bounds for every order of replicas', () => {
  const labelsOf = (index: number) => ({ app: 'web', [INDEX]: `${index}` });
  checkSets(INDEX, labelsOf, raw => replicaLabels(raw, { [INDEX]: '1' }));
});

test('the number of replicas that get labels of their nodes is within the bounds for every order', () => {
  const labelsOf: Labels = (_, node) => ({ app: 'web', ...zoneOf(node) });
  checkSets(ZONE, labelsOf, (raw, nodes) => replicaLabels(raw, {}, copiedLabels(nodes)));
});
