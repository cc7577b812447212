/** Random pods on small clusters: certain results hold in every order of the scheduler. Everything follows from SEED. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Competitors } from '../../../src/scheduling/certainty.ts';
import { OpenNodes } from '../../../src/scheduling/impact/open-nodes.ts';
import { place, settle } from '../../../src/scheduling/place.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import type { Snapshot } from '../../../src/scheduling/snapshot.ts';
import type { PodTraits } from '../../../src/scheduling/types.ts';
import { readStorageClass, readVolume } from '../../../src/scheduling/volumes/storage.ts';
import { Dice } from '../../e2e/dice.ts';
import { asks, pod, site, snapshot } from './fixtures.ts';

const CLUSTERS = 700;
const HOST = 'kubernetes.io/hostname';
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

type Counts = ReadonlyMap<PodTraits, number>;

/** The fewest pods of each kind that have a node once the scheduler, in whatever order, finds none for those that are left. */
function fewestPlaced(kinds: Counts, names: readonly string[], where: Snapshot): Map<PodTraits, number> {
  const all = [...kinds];
  const fewest = new Map(kinds);
  const left = new Map(kinds);
  const at = new Map<string, number>();
  const seen = new Set<string>();
  const visit = () => {
    const state = `${[...at].filter(([, count]) => count > 0).sort()} ${[...where.takenVolumes].sort()}`;
    if (seen.has(state)) return;
    seen.add(state);
    let isEnd = true;
    for (const [index, [kind]] of all.entries()) {
      const count = left.get(kind) ?? 0;
      if (count === 0) continue;
      for (const name of names) {
        const taken = new Set(where.takenVolumes);
        const placed = place(kind, [name], where, 1);
        if (placed.replicas === 0) continue;
        isEnd = false;
        const key = `${index}@${name}`;
        settle(kind, placed, where);
        left.set(kind, count - 1);
        at.set(key, (at.get(key) ?? 0) + 1);
        visit();
        where.remove(kind, name);
        for (const volume of where.takenVolumes) if (!taken.has(volume)) where.takenVolumes.delete(volume);
        left.set(kind, count);
        at.set(key, (at.get(key) ?? 0) - 1);
      }
    }
    if (!isEnd) return;
    for (const [kind, count] of kinds) fewest.set(kind, Math.min(fewest.get(kind) ?? 0, count - (left.get(kind) ?? 0)));
  };
  visit();
  return fewest;
}

/** As forecasts tell it: kind after kind, each as if it were alone where the others leave it room. */
function told(kinds: Counts, names: readonly string[], where: Snapshot): Map<PodTraits, number> {
  const open = new OpenNodes(where);
  const competitors = new Competitors(kinds, where, open);
  const certain = new Set([...kinds].flatMap(([kind, count]) => (competitors.leaveRoomFor(kind, count) ? kind : [])));
  const found = new Map<PodTraits, number>();
  const taken = new Set(where.takenVolumes);
  const placed = [...kinds].map(([kind, count]) => {
    const of = place(kind, names, where, count);
    settle(kind, of, where);
    found.set(kind, certain.has(kind) ? of.bounds.least : 0);
    return { kind, of };
  });
  for (const { kind, of } of placed)
    for (const [node, count] of of.byNode) for (let at = 0; at < count; at++) where.remove(kind, node);
  where.takenVolumes.clear();
  for (const volume of taken) where.takenVolumes.add(volume);
  return found;
}

function terms(kind: 'podAffinity' | 'podAntiAffinity', app: string, topologyKey: string): RawPodSpec {
  const term = { topologyKey, labelSelector: { matchLabels: { app } } };
  return { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
}

function spread(app: string, topologyKey: string): RawPodSpec {
  const labelSelector = { matchLabels: { app } };
  return {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }],
  };
}

function volume(size: string): RawPodSpec {
  const spec = {
    storageClassName: 'local',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: size } },
  };
  return { volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec } } }] };
}

const ports = { containers: [{ ports: [{ hostPort: 80 }], resources: { requests: { cpu: '1' } } }] };
const PLAIN = [
  asks({ cpu: '1' }),
  asks({ cpu: '2' }),
  asks({ cpu: '3', memory: '1Gi' }),
  asks({ memory: '3Gi' }),
  ports,
];
const RULED = [
  { ...asks({ cpu: '1' }), ...terms('podAntiAffinity', 'other', HOST) },
  { ...asks({ cpu: '1' }), ...terms('podAntiAffinity', 'web', HOST) },
  { ...asks({ cpu: '1' }), ...terms('podAntiAffinity', 'web', 'zone') },
  { ...asks({ cpu: '1' }), ...terms('podAffinity', 'web', 'zone') },
  { ...asks({ cpu: '1' }), ...terms('podAffinity', 'other', HOST) },
  { ...asks({ cpu: '1' }), ...spread('web', 'zone') },
  { ...asks({ cpu: '1' }), ...spread('web', HOST) },
  { ...ports, ...terms('podAntiAffinity', 'web', HOST) },
  { ...asks({ cpu: '1' }), ...volume('1Gi') },
  { ...asks({ cpu: '1' }), ...volume('5Gi') },
];

function randomCluster(random: Dice, specs: readonly RawPodSpec[]) {
  const nodes = Array.from({ length: random.between(1, 3) }, (_, at) =>
    site(`n${at}`, {
      labels: { zone: random.pick(['a', 'b']) },
      allocatable: {
        cpu: random.chance(0.3) ? '40' : `${random.between(1, 8)}`,
        memory: random.chance(0.5) ? '90Gi' : `${random.between(1, 8)}Gi`,
        pods: `${random.between(2, 6)}`,
      },
    }),
  );
  const names = nodes.map(({ name }) => name);
  const volumes = Array.from({ length: random.between(1, 3) }, (_, at) => {
    const values = [random.pick(names)];
    const nodeSelectorTerms = [{ matchExpressions: [{ key: HOST, operator: 'In', values }] }];
    return readVolume({
      metadata: { name: `v${at}` },
      spec: {
        storageClassName: 'local',
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: random.pick(['1Gi', '5Gi']) },
        nodeAffinity: { required: { nodeSelectorTerms } },
      },
      status: { phase: 'Available' },
    });
  });
  const local = readStorageClass({
    metadata: { name: 'local' },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  const where = snapshot(nodes, [], {
    claims: new Map(),
    volumes: new Map(volumes.map(each => [each.name, each])),
    classes: new Map([['local', local]]),
  });
  if (random.chance(0.3)) where.add(where.parts.traits(pod(random.pick(specs))), random.pick(names));
  const kinds = new Map<PodTraits, number>();
  for (let at = random.between(1, 5); at > 0; at--) {
    // Siblings may differ in a label, as those of a StatefulSet do.
    const own = random.chance(0.2) ? { index: `${random.between(0, 1)}` } : {};
    const labels = { app: random.chance(0.2) ? 'other' : 'web', ...own };
    const kind = where.parts.traits(pod(random.pick(specs), { labels }));
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return { where, names, kinds };
}

function check(specs: readonly RawPodSpec[], clusters: number): { certain: number; possible: number } {
  const random = new Dice(SEED);
  let [certain, possible] = [0, 0];
  for (let at = 0; at < clusters; at++) {
    const { where, names, kinds } = randomCluster(random, specs);
    const fewest = fewestPlaced(kinds, names, where);
    for (const [kind, least] of told(kinds, names, where)) {
      const really = fewest.get(kind) ?? 0;
      assert.ok(least <= really, `seed ${SEED}, case ${at}: ${least} of ${JSON.stringify(kind.labels)}, ${really}`);
      if (really === kinds.get(kind)) possible += really;
      if (really === kinds.get(kind)) certain += least;
    }
  }
  return { certain, possible };
}

test(`pods with a certain place have it wherever the others are placed, seed ${SEED}`, () => {
  const { certain, possible } = check(PLAIN, CLUSTERS);
  assert.ok(certain / possible > 0.7, `${certain} of ${possible} are said to be certain`);
});

test(`certain places exist also for pods with rules about each other and with local volumes, seed ${SEED}`, () => {
  const { certain, possible } = check([...PLAIN.slice(0, 2), ...RULED], 2 * CLUSTERS);
  assert.ok(certain / possible > 0.3, `${certain} of ${possible} are said to be certain`);
});
