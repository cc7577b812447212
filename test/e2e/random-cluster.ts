/** Random nodes in pools, volumes and pods, for the comparison of fit with the scheduler. Everything follows from the seed. */
import type { Taint } from '../../src/nodepool/types.ts';
import type { NodeSpec } from '../cluster/nodes.ts';
import type { Dice } from './dice.ts';

export const POOLS = 50;
const NODES_OF_POOL = 2;

export const ZONE = 'topology.kubernetes.io/zone';
export const HOST = 'kubernetes.io/hostname';
export const ZONES = ['a', 'b', 'c'];
export const NAMESPACES: Readonly<Record<string, Record<string, string>>> = {
  'fit-a': { team: 'a' },
  'fit-b': { team: 'b' },
  'fit-c': { team: 'b', stage: 'test' },
};

export function poolLabel(pool: number): string {
  return `node-role.kubernetes.io/p${pool}`;
}

export function randomNodes(random: Dice): NodeSpec[] {
  return Array.from({ length: POOLS }, (_, pool) => {
    const taints: Taint[] = [];
    if (random.chance(0.25)) {
      const effect = random.pick(['NoSchedule', 'NoExecute', 'PreferNoSchedule'] as const);
      taints.push({ key: random.pick(['dedicated', 'gpu']), value: random.pick(['x', 'y']), effect });
    }
    const labels = {
      [poolLabel(pool)]: '',
      disk: random.pick(['ssd', 'hdd']),
      cores: String(random.between(1, 4) * 2),
      ...(random.chance(0.6) ? { rack: `r${random.between(1, 6)}` } : {}),
    };
    const allocatable = {
      cpu: random.pick(['2', '4', '3900m', '8']),
      memory: random.pick(['2Gi', '4Gi', '8000M']),
      'ephemeral-storage': random.pick(['10Gi', '50Gi']),
      pods: String(random.between(3, 30)),
      'hugepages-2Mi': random.pick(['0', '512Mi']),
      ...(random.chance(0.3) ? { 'example.com/gpu': String(random.between(0, 4)) } : {}),
    };
    return Array.from({ length: NODES_OF_POOL }, (_, at): NodeSpec => {
      const zone = random.pick(ZONES);
      return {
        name: `p${pool}-${at}`,
        labels: { ...labels, [ZONE]: zone, ...(random.chance(0.1) ? { extra: '' } : {}) },
        taints,
        allocatable,
        unschedulable: random.chance(0.06),
      };
    });
  }).flat();
}

type Spec = Record<string, unknown>;

/** Most pods have few of the rules, so that some fit. */
export function randomPod(random: Dice, number: number): { namespace: string; name: string; body: Spec } {
  const namespace = random.pick(Object.keys(NAMESPACES));
  const labels = {
    app: random.pick(['web', 'db', 'job']),
    ...(random.chance(0.5) ? { version: random.pick(['1', '2']) } : {}),
  };
  const spec: Spec = {
    ...containers(random),
    terminationGracePeriodSeconds: 0,
    ...(random.chance(0.35) ? { tolerations: tolerations(random) } : {}),
    ...(random.chance(0.2) ? { nodeSelector: { disk: random.pick(['ssd', 'hdd', 'tape']) } } : {}),
    ...(random.chance(0.2) ? { topologySpreadConstraints: spread(random) } : {}),
    ...affinity(random),
    ...(random.chance(0.25) ? { volumes: [volume(random)] } : {}),
    ...(random.chance(0.02) ? { schedulingGates: [{ name: 'example.com/wait' }] } : {}),
    ...(random.chance(0.05) ? { runtimeClassName: 'heavy' } : {}),
    ...(random.chance(0.04) ? { hostNetwork: true } : {}),
  };
  const name = `pod-${number}`;
  return { namespace, name, body: { metadata: { name, labels }, spec } };
}

function containers(random: Dice): Spec {
  const image = 'registry.example.com/app:1';
  const container = (name: string, more: Spec = {}) => ({
    ...{ name, image, resources: resources(random) },
    ...(random.chance(0.08) ? { ports: [port(random)] } : {}),
    ...more,
  });
  const inits = [
    ...(random.chance(0.1) ? [container('once')] : []),
    ...(random.chance(0.1) ? [container('sidecar', { restartPolicy: 'Always' })] : []),
  ];
  return {
    containers: [container('main'), ...(random.chance(0.2) ? [container('second')] : [])],
    ...(inits.length > 0 ? { initContainers: inits } : {}),
    ...(random.chance(0.05) ? { resources: { requests: { cpu: '3', memory: '3Gi' } } } : {}),
  };
}

function resources(random: Dice): Spec {
  if (random.chance(0.2)) return {};
  const gpus = { 'example.com/gpu': String(random.between(0, 2)) };
  const huge = { 'hugepages-2Mi': '64Mi' };
  const requests = {
    cpu: random.pick(['10m', '100m', '250m', '1', '1500m', '3']),
    memory: random.pick(['64Mi', '100M', '512Mi', '1Gi', '3Gi']),
    ...(random.chance(0.1) ? { 'ephemeral-storage': random.pick(['1Gi', '20Gi']) } : {}),
  };
  const limits = { ...(random.chance(0.1) ? gpus : {}), ...(random.chance(0.06) ? huge : {}) };
  return { requests, limits };
}

function port(random: Dice): Spec {
  return {
    containerPort: 8080,
    hostPort: random.pick([80, 443]),
    protocol: random.pick(['TCP', 'UDP']),
    ...(random.chance(0.3) ? { hostIP: random.pick(['10.0.0.1', '10.0.0.2']) } : {}),
  };
}

function tolerations(random: Dice): Spec[] {
  return [
    random.pick<Spec>([
      { operator: 'Exists' },
      { key: 'dedicated', operator: 'Exists' },
      { key: 'gpu', operator: 'Equal', value: 'x' },
      { key: 'dedicated', value: 'y', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
      { operator: 'Exists', effect: 'NoExecute' },
    ]),
  ];
}

function spread(random: Dice): Spec[] {
  return Array.from({ length: random.chance(0.25) ? 2 : 1 }, (_, at) => ({
    maxSkew: random.between(1, 3),
    topologyKey: at === 0 ? random.pick([ZONE, 'rack']) : HOST,
    whenUnsatisfiable: random.chance(0.85) ? 'DoNotSchedule' : 'ScheduleAnyway',
    labelSelector: random.chance(0.06) ? {} : selector(random),
    ...(random.chance(0.3) ? { nodeAffinityPolicy: random.pick(['Honor', 'Ignore']) } : {}),
    ...(random.chance(0.4) ? { nodeTaintsPolicy: random.pick(['Honor', 'Ignore']) } : {}),
    ...(random.chance(0.3) ? { matchLabelKeys: ['version'] } : {}),
  })).map(each =>
    each.whenUnsatisfiable === 'DoNotSchedule' && random.chance(0.2)
      ? { ...each, minDomains: random.between(2, 7) }
      : each,
  );
}

function selector(random: Dice): Spec {
  if (random.chance(0.7)) return { matchLabels: { app: random.pick(['web', 'db', 'job']) } };
  const operator = random.pick(['In', 'NotIn', 'Exists', 'DoesNotExist']);
  const values = operator.endsWith('In') ? { values: ['web', 'db'] } : {};
  return { matchExpressions: [{ key: operator.endsWith('In') ? 'app' : 'version', operator, ...values }] };
}

function affinity(random: Dice): Spec {
  const parts: Spec = {};
  if (random.chance(0.2)) {
    const terms = Array.from({ length: random.between(1, 2) }, () => nodeTerm(random));
    parts.nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
  }
  if (random.chance(0.1)) parts.podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [podTerm(random)] };
  if (random.chance(0.15))
    parts.podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [podTerm(random)] };
  return Object.keys(parts).length === 0 ? {} : { affinity: parts };
}

function nodeTerm(random: Dice): Spec {
  if (random.chance(0.15)) {
    const values = [`p${random.between(0, POOLS - 1)}-0`];
    return { matchFields: [{ key: 'metadata.name', operator: random.pick(['In', 'NotIn']), values }] };
  }
  const requirement = random.pick<Spec>([
    { key: 'cores', operator: 'Gt', values: ['3'] },
    { key: 'cores', operator: 'Lt', values: ['5'] },
    { key: 'rack', operator: 'Exists' },
    { key: 'rack', operator: 'DoesNotExist' },
    { key: ZONE, operator: 'In', values: ['a', 'b'] },
    { key: ZONE, operator: 'NotIn', values: ['a'] },
    { key: 'disk', operator: 'Gt', values: ['1'] },
  ]);
  return { matchExpressions: [requirement] };
}

function podTerm(random: Dice): Spec {
  return {
    topologyKey: random.pick([ZONE, HOST, 'rack']),
    labelSelector: selector(random),
    ...(random.chance(0.2) ? { namespaces: ['fit-a'] } : {}),
    ...(random.chance(0.25) ? { namespaceSelector: random.pick<Spec>([{}, { matchLabels: { team: 'b' } }]) } : {}),
    ...(random.chance(0.2) ? random.pick([{ matchLabelKeys: ['version'] }, { mismatchLabelKeys: ['version'] }]) : {}),
  };
}

export const CLAIMS = 12;

function volume(random: Dice): Spec {
  const named = (claimName: string) => ({ name: 'v', persistentVolumeClaim: { claimName } });
  const at = random.between(0, CLAIMS - 1);
  return random.pick<() => Spec>([
    () => named(`bound-${at}`),
    () => named(`bound-${at}`),
    () => named(`waits-${at}`),
    () => named(`made-${at}`),
    () => named(random.chance(0.5) ? 'immediate' : 'missing'),
    () => named(`once-${at % 3}`),
    () => ({ name: 'v', awsElasticBlockStore: { volumeID: `vol-${at}` } }),
    () => ({ name: 'v', gcePersistentDisk: { pdName: `disk-${at % 2}`, readOnly: random.chance(0.5) } }),
    () => ({
      name: 'v',
      iscsi: { targetPortal: '10.0.0.9', iqn: 'iqn.2026-01.com.example:d', lun: 0, readOnly: random.chance(0.5) },
    }),
    () => ({ name: 'v', rbd: { monitors: [`m${at % 3}`, 'm3'], image: 'i', readOnly: random.chance(0.5) } }),
  ])();
}
