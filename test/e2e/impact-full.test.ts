/**
 * `diff --impact` against what happens: 200 random changes of pools, with the real controller manager and scheduler. A pod that
 * the scheduler places while nodes are still being written may stand where it would not be placed afterwards: it is counted.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { raw } from '../cluster/raw.ts';
import { seeded } from '../fault/random.ts';
import { commandsOf } from './commands.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { MEMBER, NODES_OF_POOL, POOLS, randomSpec, randomWorkloads } from './impact-workloads.ts';
import { eventually } from './watching.ts';

const TEST_MS = 600_000;
const ROUNDS = 20;
const SETTLE_MS = 60_000;
const PODS = '/api/v1/namespaces/default/pods';

interface LivePod {
  metadata: {
    name: string;
    uid: string;
    labels: { app: string };
    deletionTimestamp?: string;
    ownerReferences?: { kind: string; name: string }[];
  };
  spec: { nodeName?: string } & Record<string, unknown>;
}

interface Group {
  owner: { kind: string; name: string } | null;
  pods: string[];
}

interface Forecast {
  daemonSets: { name: string; starts: string[]; stops: string[] }[];
  evicted: (Group & { pending: number | null; canGo: { node: string }[] | null })[];
  notScheduledAgain: Group[];
}

describe('the impact of diff', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());
  const { unchanged } = commandsOf(testEnv.cluster);
  /** By `app`. */
  const templates = new Map<string, Record<string, unknown>>();

  const livePods = async () => {
    const { items } = (await api().expect('GET', `${PODS}?limit=5000`)) as { items: LivePod[] };
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const ownerOf = ({ metadata }: LivePod) => metadata.ownerReferences?.[0];
  const isOfDaemonSet = (pod: LivePod) => ownerOf(pod)?.kind === 'DaemonSet';
  /** `ds-1@n3`, of the pods that DaemonSets have now. */
  const daemonPods = (pods: readonly LivePod[]) =>
    pods.flatMap(pod => (isOfDaemonSet(pod) ? `${ownerOf(pod)?.name}@${nodeOf(pod)}` : [])).toSorted();

  async function forecast(): Promise<Forecast | undefined> {
    const { code, stdout, stderr } = await unchanged(['diff', '--impact', '-o', 'json']);
    assert.ok(code === 0 || code === 1, stderr);
    return (JSON.parse(stdout) as { impact?: Forecast }).impact;
  }

  async function quiet(): Promise<void> {
    let before = '';
    await eventually(
      'no pod comes or goes',
      async () => {
        const now = JSON.stringify(
          (await livePods()).map(({ metadata, spec }) => [metadata.uid, spec.nodeName]).toSorted(),
        );
        const isQuiet = now === before;
        before = now;
        if (!isQuiet) await sleep(700);
        return isQuiet;
      },
      SETTLE_MS,
    );
  }

  /** Whether the scheduler puts a copy of the pod on its node; of one with a RuntimeClass, the template has what is its own. */
  async function isScheduledAgain(pod: LivePod): Promise<boolean> {
    const { nodeName = '', ...itself } = pod.spec;
    const spec = pod.spec.runtimeClassName === undefined ? itself : (templates.get(pod.metadata.labels.app) ?? {});
    const name = `again-${pod.metadata.uid.slice(0, 8)}`;
    const fields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }];
    const affinity = spec.affinity as
      | { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: object[] } } }
      | undefined;
    const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}];
    const nodeSelectorTerms = terms.map(term => ({ ...term, matchFields: fields }));
    await api().expect('POST', PODS, {
      metadata: { name },
      spec: {
        ...spec,
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
      },
    });
    let found: { nodeName?: string; condition?: string } = {};
    await eventually('the scheduler has looked at it', async () => {
      const copy = (await api().expect('GET', `${PODS}/${name}`)) as LivePod & {
        status: { conditions?: { type: string; status: string }[] };
      };
      const condition = copy.status.conditions?.find(({ type }) => type === 'PodScheduled')?.status;
      found = {
        ...(copy.spec.nodeName === undefined ? {} : { nodeName: copy.spec.nodeName }),
        ...(condition ? { condition } : {}),
      };
      return condition !== undefined;
    });
    await api().expect('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
    await eventually('the copy is gone', async () => (await api().request('GET', `${PODS}/${name}`)).status === 404);
    return found.nodeName !== undefined;
  }

  test('equals what the controller manager and the scheduler do, for 200 random changes', {
    timeout: TEST_MS,
  }, async t => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    t.diagnostic(`SEED=${seed}`);
    const random = seeded(seed);
    const pools = Array.from({ length: POOLS }, (_, at) => `p${at}`);
    const nodes = pools.flatMap(pool =>
      Array.from({ length: NODES_OF_POOL }, (_, at) => ({ name: `${pool}-n${at}`, labels: { [MEMBER]: pool } })),
    );
    await testEnv.nodes(...nodes, ...['free-0', 'free-1'].map(name => ({ name })));
    for (const pool of pools) await testEnv.pool(pool, { nodeSelector: { [MEMBER]: pool }, handler: 'runc' });
    await testEnv.reconcile();
    const workloads = randomWorkloads(random, 8, 6, 4);
    for (const { path, body } of workloads) await api().expect('POST', path, body);
    for (const { metadata, spec } of workloads.map(({ body }) => body))
      templates.set(metadata.name, spec.template.spec);
    await quiet();

    const counts = { starts: 0, stops: 0, evicted: 0, ofClass: 0, pending: 0, again: 0, notAgain: 0, onTheWay: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      for (const pool of pools) await testEnv.edit(pool, { spec: randomSpec(random) });
      const told = await forecast();
      const before = await livePods();
      await testEnv.reconcile();
      const { daemonSets = [], evicted = [], notScheduledAgain = [] } = told ?? {};
      const stops = new Set(daemonSets.flatMap(({ name, stops }) => stops.map(node => `${name}@${node}`)));
      const starts = daemonSets.flatMap(({ name, starts }) => starts.map(node => `${name}@${node}`));
      const expected = [...daemonPods(before).filter(each => !stops.has(each)), ...starts].toSorted();
      const gone = new Set(evicted.flatMap(({ pods }) => pods));
      const isDone = async () => {
        const pods = await livePods();
        return daemonPods(pods).join() === expected.join() && !pods.some(({ metadata }) => gone.has(metadata.name));
      };
      // Once the time is over, the comparison below shows the difference.
      await eventually('it is as foretold', isDone, SETTLE_MS).catch(() => {});
      await quiet();
      const after = await livePods();
      assert.deepEqual(daemonPods(after), expected, `round ${round}`);

      const left = new Set(after.map(({ metadata }) => metadata.uid));
      const ran = before.filter(pod => !isOfDaemonSet(pod) && nodeOf(pod) !== '');
      const really = ran.filter(({ metadata }) => !left.has(metadata.uid)).map(({ metadata }) => metadata.name);
      assert.deepEqual(really.toSorted(), [...gone].toSorted(), `evicted in round ${round}`);

      const known = new Set(before.map(({ metadata }) => metadata.uid));
      for (const { owner, pending, pods } of evicted) {
        const name = owner?.name ?? '';
        const fresh = after.filter(
          pod =>
            !known.has(pod.metadata.uid) &&
            ownerOf(pod)?.name.startsWith(`${name}-`) &&
            ownerOf(pod)?.kind === 'ReplicaSet',
        );
        assert.equal(fresh.length, pods.length, `${name} in round ${round}`);
        const waiting = fresh.filter(pod => nodeOf(pod) === '').length;
        // See the head of the file.
        const onTheWay = (pending ?? 0) - waiting;
        assert.ok(onTheWay >= 0, `${name} in round ${round}: ${waiting} are Pending, ${pending} were foretold`);
        if (onTheWay > 0) {
          const placed = fresh.find(pod => nodeOf(pod) !== '');
          assert.ok(placed !== undefined && !(await isScheduledAgain(placed)), `${name} in round ${round}`);
        }
        if (name.startsWith('vm-')) counts.ofClass += pods.length;
        counts.onTheWay += onTheWay;
        counts.pending += pending ?? 0;
      }
      const stranded = new Set(notScheduledAgain.flatMap(({ pods }) => pods));
      const one = after.find(({ metadata }) => stranded.has(metadata.name));
      if (one !== undefined) {
        assert.equal(await isScheduledAgain(one), false, `${one.metadata.name} in round ${round}`);
        counts.notAgain++;
      }
      const other = after.find(pod => starts.includes(`${ownerOf(pod)?.name}@${nodeOf(pod)}`));
      if (other !== undefined) counts.again++;
      counts.starts += starts.length;
      counts.stops += stops.size;
      counts.evicted += gone.size;
    }
    t.diagnostic(
      Object.entries(counts)
        .map(([what, count]) => `${what}=${count}`)
        .join(' '),
    );
    for (const what of ['starts', 'stops', 'evicted', 'ofClass', 'notAgain'] as const)
      assert.ok(counts[what] > 0, what);
  });
});

/** DaemonSet pods name their node from the start. */
function nodeOf({ spec }: LivePod): string {
  if (spec.nodeName !== undefined) return spec.nodeName;
  const affinity = spec.affinity as
    | {
        nodeAffinity?: {
          requiredDuringSchedulingIgnoredDuringExecution?: {
            nodeSelectorTerms: { matchFields?: { key: string; values: string[] }[] }[];
          };
        };
      }
    | undefined;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const field = terms[0]?.matchFields?.find(({ key }) => key === 'metadata.name');
  return field?.values[0] ?? '';
}
