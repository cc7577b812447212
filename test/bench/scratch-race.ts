/** The same labels and taints on every node from scratch, in turn by bare patches, this program, and loops over kubectl. */
import type { NodePool } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { POOL_LABEL } from './cluster.ts';
import { barePatches, bareRepairs, CONNECTIONS, drift, recreatePools, reset } from './from-scratch.ts';
import { measure, measuredEnvironment, type Sample } from './measure.ts';
import { type Command, type Contender, type RaceResult, runRace } from './race.ts';
import { EXECUTABLE, OLD_EXECUTABLE, type Programs } from './races.ts';

/** Rounds of a race that takes a second, for each of the others. */
const QUICK = 3;
/** Rounds from scratch, for each of the others: the interval of five would begin at the fastest. */
const TWICE = 2;
/** Each takes minutes. */
const MAX_LOOPS = 3;

export interface Scratch {
  pools: NodePool[];
  nodes: number;
  rounds: number;
  /** Rounds take minutes: they are not doubled, and loops over `kubectl label` and `kubectl taint` are left out. */
  isLarge: boolean;
  /** Whether the limits apply to the size of the cluster. */
  held: boolean;
}

/** Compared with the bare patches, and with kubectl. */
export async function fromScratch(
  cluster: ControlPlane,
  { kubectl, executable, old }: Programs,
  { pools, nodes, rounds, isLarge, held }: Scratch,
): Promise<RaceResult[]> {
  const env = await measuredEnvironment(cluster);
  const bare = await barePatches(cluster, pools, nodes);
  type Run = () => Promise<Sample>;
  const after =
    (prepare: () => Promise<void>) =>
    (name: string, run: Run, most?: number): Contender => ({
      name,
      limits: most === undefined || !held ? {} : { ratio: most },
      async run() {
        await prepare();
        return run();
      },
    });
  const afresh = after(async () => {
    await reset(cluster, pools, nodes);
    await recreatePools(cluster, pools);
  });
  const reconcile = ([program, ...args]: Command) => {
    const command = [program, ...args, 'reconcile', '--concurrency', String(CONNECTIONS)];
    return () => measure({ command, env });
  };
  const reconciling = (made: typeof afresh, most: number) => [
    made(`${EXECUTABLE}: reconcile`, reconcile(executable), most),
    ...(old === undefined ? [] : [made(`${OLD_EXECUTABLE}: reconcile`, reconcile(old))]),
  ];
  const race = await runRace(
    {
      title: `Labels and taints from scratch, ${CONNECTIONS} connections`,
      peer: afresh('bare merge patches', () => measure({ ...bare, env })),
      others: reconciling(afresh, 1.05),
    },
    isLarge ? rounds : rounds * TWICE,
  );
  const repairs = await bareRepairs(cluster);
  const drifted = after(() => drift(cluster));
  const few = await runRace(
    {
      title: 'All nodes read, 50 of them changed',
      peer: drifted('a bare list and merge patches', () => measure({ ...repairs, env })),
      others: reconciling(drifted, 1.15),
    },
    rounds * QUICK,
  );
  if (isLarge) return [race, few];

  const against = await runRace(
    {
      title: 'The same with kubectl, one pool after the other',
      peer: afresh('kubectl label and kubectl taint', () => kubectlLoop(kubectl, pools, env)),
      others: [afresh(`${EXECUTABLE}: reconcile`, reconcile(executable), 1 / 6)],
    },
    Math.min(rounds, MAX_LOOPS),
  );
  return [race, few, against];
}

/** Two commands per pool; returns the sum of their times. */
async function kubectlLoop(kubectl: Command, pools: NodePool[], env: Record<string, string>): Promise<Sample> {
  const total: Sample = { seconds: 0, cpu: 0, rss: 0 };
  for (const { metadata, spec } of pools) {
    const select = ['-l', `${POOL_LABEL}=${metadata.name}`];
    const labels = Object.entries(spec.labels ?? {}).map(([key, value]) => `${key}=${value}`);
    const taints = (spec.taints ?? []).map(({ key, value = '', effect }) => `${key}=${value}:${effect}`);
    for (const args of [
      ['label', 'nodes', ...select, ...labels],
      ['taint', 'nodes', ...select, ...taints],
    ]) {
      const { seconds, cpu, rss } = await measure({ command: [...kubectl, ...args], env });
      total.seconds += seconds;
      total.cpu += cpu;
      total.rss = Math.max(total.rss, rss);
    }
  }
  return total;
}
