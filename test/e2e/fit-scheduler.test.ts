/**
 * 1,000 random pods over 50 pools, each in the whole cluster and in one pool: the rules of src/scheduling decide as a real
 * kube-scheduler does, in its words. SEED=N repeats a run.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSnapshot } from '../../src/commands/shared/read-snapshot.ts';
import { quantityReader } from '../../src/nodepool/quantity/amounts.ts';
import { FitReasons, reasonsText } from '../../src/scheduling/fit-reasons.ts';
import { Judge } from '../../src/scheduling/judge.ts';
import type { RawPod } from '../../src/scheduling/pod/raw-pod.ts';
import { readPod } from '../../src/scheduling/pod/read-pod.ts';
import type { Snapshot } from '../../src/scheduling/snapshot.ts';
import type { Pod } from '../../src/scheduling/types.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../cluster/controllers.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { Dice } from './dice.ts';
import { createHeavyRuntime } from './many-pods.ts';
import { NAMESPACES, POOLS, poolLabel, randomNodes, randomPod } from './random-cluster.ts';
import { createVolumes } from './random-volumes.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1_000_000));
const PODS = Number(process.env.PODS ?? 1_000);
const START_MS = 900_000;
/** So often the snapshot is read again, as fit reads it. */
const READ_EVERY = 100;

interface LivePod {
  spec: { nodeName?: string };
  status: { conditions?: { type: string; status: string; reason: string; message: string }[] };
}

describe('the rules of scheduling', () => {
  let controllers: Controllers | undefined;
  after(async () => controllers?.stop());
  const testEnv = useTestEnv({ own: true });
  before(
    async () => {
      await ensureBinaries(CONTROLLER_BINARIES);
      controllers = await startControllers(testEnv.cluster(), { schedulerOnly: true });
    },
    { timeout: START_MS },
  );
  const api = () => raw(testEnv.cluster());
  const pathOf = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;

  /** What the scheduler decided: a node, or the message of the condition. */
  const decision = async (
    namespace: string,
    name: string,
    claims: readonly string[],
  ): Promise<{ node: string; pod?: Pod } | { message: string }> => {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const pod = (await api().expect('GET', `${pathOf(namespace)}/${name}`)) as LivePod;
      // With the labels that it got as it was bound.
      if (pod.spec.nodeName !== undefined)
        return { node: pod.spec.nodeName, pod: readPod(pod as RawPod, quantityReader()) };
      const condition = pod.status.conditions?.find(({ type }) => type === 'PodScheduled');
      if (condition?.status === 'False') return { message: `${condition.reason}: ${condition.message}` };
      // Of a volume that has to be made, and is not: the node is chosen, and the pod is not bound.
      for (const claim of claims) {
        const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claim}`;
        const { metadata } = (await api().expect('GET', path)) as {
          metadata: { annotations?: Record<string, string> };
        };
        const node = metadata.annotations?.['volume.kubernetes.io/selected-node'];
        if (node !== undefined) return { node };
      }
      if (Date.now() > deadline) throw new Error(`the scheduler did not decide on ${namespace}/${name}`);
      await sleep(2);
    }
  };

  const remove = async (namespace: string, name: string) => {
    await api().expect('DELETE', `${pathOf(namespace)}/${name}?gracePeriodSeconds=0`);
  };

  const forget = async (namespace: string, claim: string) => {
    const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claim}`;
    await api().expect('PATCH', path, { metadata: { annotations: { 'volume.kubernetes.io/selected-node': null } } });
  };

  /** As fit reads it. */
  const snapshotOf = async (pods: Pod[]): Promise<Snapshot> => {
    const connection = await testEnv.connection();
    const options = { pods, keep: () => false, judgesKept: false };
    const { snapshot } = await readSnapshot(connection.cluster.nodes.list(), options, await connection.scheduling());
    return snapshot;
  };

  /** Of pods that need everything. */
  const snapshotNow = (): Promise<Snapshot> => {
    const claims = [{ name: 'any', template: undefined }];
    const selector = { topologyKey: '', namespaces: [], namespaceSelector: {}, selector: {} };
    return snapshotOf(Object.keys(NAMESPACES).map(each => ({ ...anyPod(each), claims, affinity: [selector] })));
  };

  const storageNow = async () => {
    const port = await (await testEnv.connection()).scheduling();
    return port.storage(new Set(Object.keys(NAMESPACES)));
  };

  test(`decide as kube-scheduler does, seed ${SEED}`, { timeout: 600_000 }, async t => {
    const random = new Dice(SEED);
    await createHeavyRuntime(testEnv.cluster());
    for (const [name, labels] of Object.entries(NAMESPACES)) {
      await api().expect('POST', '/api/v1/namespaces', { metadata: { name, labels } });
    }
    await createNodes(testEnv.cluster(), randomNodes(random));
    await createVolumes(api(), random);
    await eventually('claims are bound', async () => (await unbound(api())) === 0, 60_000);
    const placed: { pod: Pod; node: string }[] = [];
    const seen = new Map<string, number>();
    const differences: string[] = [];
    let snapshot = await snapshotNow();
    const nodes = [...snapshot.nodes.keys()];
    const since = Date.now();

    const compare = async (number: number, pool: number | undefined) => {
      const { namespace, name, body } = randomPod(random, number);
      const spec = body.spec as Record<string, unknown>;
      const where =
        pool === undefined
          ? body
          : { ...body, spec: { ...spec, nodeSelector: { ...(spec.nodeSelector ?? {}), [poolLabel(pool)]: '' } } };
      const created = await api().request('POST', pathOf(namespace), where);
      // Random fields may cannot be used together.
      if (created.status === 422) return;
      assert.equal(created.status, 201, JSON.stringify(created.body));
      const pod = readPod(created.body as RawPod, quantityReader());
      const made = pod.claims.map(claim => claim.name).filter(claim => claim.startsWith('made-'));
      const found = await decision(namespace, name, made);
      const expected = verdict(pod, nodes, snapshot);
      for (const text of expected.reasons) seen.set(text, (seen.get(text) ?? 0) + 1);
      const said = 'node' in found ? `on ${found.node}` : found.message;
      const isSame = 'node' in found ? expected.fitting.has(found.node) : found.message.startsWith(expected.text);
      if (!isSame) {
        differences.push(
          `${name} ${pool ?? ''}: kube-scheduler: ${said}\n  ours: ${expected.text} (${expected.fitting.size})\n  ${JSON.stringify(where.spec)}`,
        );
      }
      const isBound = 'node' in found && made.length === 0;
      // The node that was chosen for a volume would stay so.
      if ('node' in found) for (const claim of made) await forget(namespace, claim);
      if (isBound) {
        const { node, pod: bound = pod } = found;
        snapshot.add(bound, node);
        placed.push({ pod: bound, node });
      } else await remove(namespace, name);
      if (isBound) seen.set('bound', (seen.get('bound') ?? 0) + 1);
      // Volumes were bound or chosen.
      if (pod.claims.length > 0 && 'node' in found) snapshot.storage = await storageNow();
      // Some pods end, so that not everything is full.
      if (placed.length > 0 && random.chance(0.3)) {
        const [gone] = placed.splice(random.between(0, placed.length - 1), 1);
        if (gone !== undefined) {
          await remove(gone.pod.namespace, gone.pod.name);
          snapshot.remove(gone.pod, gone.node);
        }
      }
      if (number % READ_EVERY === 0) {
        snapshot = await snapshotNow();
        // fit keeps only the labels that the pod asks for.
        assert.deepEqual(verdict(pod, nodes, await snapshotOf([pod])), verdict(pod, nodes, snapshot));
      }
    };

    for (let number = 0; number < PODS && differences.length < 20; number++) {
      await compare(2 * number, undefined);
      await compare(2 * number + 1, random.between(0, POOLS - 1));
    }
    t.diagnostic(
      `${((Date.now() - since) / 1000).toFixed(0)} s; ${[...seen].map(([text, count]) => `${count}x ${text}`).join('; ')}`,
    );
    assert.deepEqual(differences, []);
  });
});

interface Verdict {
  fitting: ReadonlySet<string>;
  /** Reasons without counts. */
  reasons: readonly string[];
  /** How the scheduler's message begins. */
  text: string;
}

function verdict(pod: Pod, nodes: readonly string[], snapshot: Snapshot): Verdict {
  const judge = new Judge(pod, snapshot);
  if (judge.refusal !== undefined) {
    const { words, rule } = judge.refusal;
    const text =
      rule === 'gates' ? 'SchedulingGated: ' : `Unschedulable: 0/${nodes.length} nodes are available: ${words}.`;
    return { fitting: new Set(), reasons: [words.replace(/".*"/g, '')], text };
  }
  const counted = new FitReasons();
  const fitting = new Set<string>();
  for (const node of nodes) {
    const reasons = judge.firstWhyNot(node);
    if (reasons.length === 0) fitting.add(node);
    counted.add(reasons);
  }
  const text = `Unschedulable: 0/${nodes.length} nodes are available: ${reasonsText(counted.list(), true)}.`;
  return { fitting, reasons: counted.list().map(({ words }) => words), text: fitting.size > 0 ? 'fits' : text };
}

function anyPod(namespace: string): Pod {
  return readPod({ metadata: { namespace, name: 'any' } }, quantityReader());
}

async function unbound(api: ReturnType<typeof raw>): Promise<number> {
  const { items } = (await api.expect('GET', '/api/v1/persistentvolumeclaims')) as {
    items: { metadata: { name: string }; status: { phase: string } }[];
  };
  return items.filter(({ metadata, status }) => /^(bound|once)-/.test(metadata.name) && status.phase !== 'Bound')
    .length;
}
