/** Random faults, one at a time, each of which ends. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isReconcileWrite } from './asked.ts';
import { compact } from './etcd.ts';
import type { FaultProxy, Treatment } from './proxy.ts';
import type { Random } from './random.ts';
import type { Candidates } from './soak-candidates.ts';
import type { Churn } from './soak-churn.ts';
import { cutNextLine, forgeNextLine, holdWatches } from './streams.ts';
import { answerWith, delay, drop, hang, loseAnswer, throttle } from './treatments.ts';

/** The user of the candidates. */
export const USER = 'candidate';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const BORN_IN_POOL = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/born-in-pool.nodes.lailin.xyz';
/** There may be no leader, and watches may be in back-off. */
const RELEASE_MS = 90_000;

export interface FaultDeps {
  proxy: FaultProxy;
  cluster: ControlPlane;
  random: Random;
  candidates: Candidates;
  churn: Churn;
  /** Nothing else changes the cluster while it runs. */
  alone: (work: () => Promise<void>) => Promise<void>;
}

/** Lasts about `ms` and leaves nothing behind. */
type Fault = (deps: FaultDeps, ms: number) => Promise<void>;

/** A share of the requests get the treatment. */
function some(share: number, treatment: Treatment, which: (asked: Asked) => boolean = () => true): Fault {
  return async ({ proxy, random }, ms) => {
    const undo = proxy.onRequest(asked => (which(asked) && random() < share ? treatment : undefined));
    await sleep(ms);
    undo();
  };
}

export const FAULTS: Record<string, Fault> = {
  late: some(0.5, delay(700)),
  dropped: some(0.3, drop),
  'answer lost': some(0.3, loseAnswer, isReconcileWrite),
  hanging: some(0.05, hang),
  'status 429': some(0.3, answerWith(429, 'slow down', { 'retry-after': '1' })),
  'status 500': some(0.3, answerWith(500, 'injected')),
  'status 503': some(0.3, answerWith(503, 'injected')),
  'status 409': some(0.5, answerWith(409, 'injected'), isReconcileWrite),
  slow: some(0.3, throttle(2_000)),
  cut: async ({ proxy }) => proxy.cut(),
  'half a line': ({ proxy, random }, ms) => within(ms, cutNextLine(proxy, random() < 0.5 ? 'RST' : 'FIN')),
  'no event': ({ proxy }, ms) => within(ms, forgeNextLine(proxy, '{"hello":"world"}\n')),
  'watches held': async ({ proxy }, ms) => {
    const held = holdWatches(proxy);
    await sleep(ms);
    held.release();
  },
  silence: async ({ proxy }, ms) => {
    const undo = proxy.silence();
    await sleep(ms);
    undo();
    // Silenced connections stay silent; the deadline of a watch has its own test.
    proxy.cut();
  },
  refused: async ({ proxy }, ms) => {
    await proxy.refuse();
    await sleep(ms);
    await proxy.accept();
  },
  'leader halted': async ({ candidates }, ms) => {
    const leader = candidates.leader();
    leader.signal('SIGSTOP');
    await sleep(ms);
    leader.signal('SIGCONT');
  },
  'API server restarted': ({ cluster, alone }) => alone(() => restart(cluster, false)),
  // The restarted server has no history: a reflector that was behind has to list.
  'API server restarted, etcd compacted': ({ cluster, alone }) => alone(() => restart(cluster, true)),
  'etcd compacted': async ({ proxy, cluster }) => {
    await compact(cluster.etcdUrl);
    proxy.cut();
  },
  'permission taken': async ({ cluster }, ms) => {
    await raw(cluster).expect('DELETE', `${BINDINGS}/${USER}`);
    await sleep(ms);
    await grant(cluster);
  },
  'birth policy deleted': async ({ cluster }, ms) => {
    await raw(cluster).expect('DELETE', BORN_IN_POOL);
    await sleep(ms);
    await installWithBirths(cluster);
  },
  'CRD deleted': ({ cluster, churn, alone }) =>
    alone(async () => {
      await raw(cluster).expect('DELETE', CRD);
      const isGone = async () => (await raw(cluster).request('GET', CRD)).status === 404;
      await eventually('the pools are released, and the CRD is deleted', isGone, RELEASE_MS);
      await installWithBirths(cluster);
      await churn.recreatePools();
    }),
};

/** Restarts processes and so their memory: only in the first part of a soak. */
export const KILLS: Record<string, Fault> = {
  'leader killed': ({ candidates }) => candidates.killLeader(),
};

/** Grants the candidates everything until it is deleted. */
export async function grant(cluster: ControlPlane): Promise<void> {
  await raw(cluster).expect('POST', BINDINGS, {
    metadata: { name: USER },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
  });
}

/** The CRD, and the policy that gives nodes the values of their pool at registration. */
export async function installWithBirths(cluster: ControlPlane): Promise<void> {
  const { code, stderr } = await cli(cluster, ['install', '--admission']);
  assert.equal(code, 0, stderr);
}

async function restart(cluster: ControlPlane, isCompacted: boolean): Promise<void> {
  await cluster.stopApiserver();
  if (isCompacted) await compact(cluster.etcdUrl);
  await cluster.startApiserver();
}

/** Stops waiting after the time; the rule then applies to a later line. */
function within(ms: number, work: Promise<unknown>): Promise<void> {
  return Promise.race([work.then(() => {}), sleep(ms)]);
}
