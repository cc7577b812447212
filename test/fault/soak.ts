/** Random faults and random changes for a while, then quiet, then the oracle. The same seed makes the same choices. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { listenToTaints } from './evicted-pods.ts';
import { converged } from './fault-env.ts';
import { type History, listen } from './history.ts';
import { Model } from './model.ts';
import { createsAndDeletes } from './oracle.ts';
import { PoolSpans } from './pool-spans.ts';
import { startProxy } from './proxy.ts';
import { type Random, seeded } from './random.ts';
import { judgeRollouts } from './rollout-judge.ts';
import { Candidates } from './soak-candidates.ts';
import { Churn } from './soak-churn.ts';
import { listenToClasses } from './soak-classes.ts';
import { FAULTS, type FaultDeps, grant, installWithBirths, KILLS, USER } from './soak-faults.ts';
import { STARTUP_IDS } from './soak-specs.ts';
import { judgeReturns, judgeStartup } from './startup-judge.ts';

export interface SoakOptions {
  seconds: number;
  seed: number;
  nodes: number;
  /** Called with progress about once a minute. */
  tell: (line: string) => void;
}

const CHANGES_PER_SECOND = 20;
/** A fault's time, and the calm after it is at most half of that: about 13 faults in the shortest soak. */
const MAX_FAULT_MS_LENGTH = 8_000;
const MIN_FAULTS = 10;
const MINUTE_MS = 60_000;
const LOOK_MS = 2_000;
/** Back-off may have reached 30 s, a silent watch takes 45 s to be noticed, and a lease lasts 15 s. */
const SETTLE_MS = 180_000;
/** Kills happen in this part of the time, as memory is judged over one process. */
const KILLS_UNTIL = 0.25;

/** Throws AssertionError with what differs. The cluster has the NodePool resource, and an audit log. */
export async function soak(cluster: ControlPlane, { seconds, seed, nodes, tell }: SoakOptions): Promise<void> {
  // A series for each: how long a fault takes, and what it meets, does not change which change or fault comes next.
  const [changing, choosing, inside] = [seeded(seed), seeded(seed + 1), seeded(seed + 2)];
  const churn = new Churn(new Model(() => cluster), changing);
  const classes = await listenToClasses(cluster.etcdUrl);
  const taints = await listenToTaints(cluster.etcdUrl);
  const history = await listen(cluster.etcdUrl);
  await installWithBirths(cluster);
  await churn.prepare(nodes);
  await grant(cluster);
  const admin = clientCertificate(cluster.authority, USER);
  const proxy = await startProxy({ ...cluster, admin }, cluster.dir);
  const candidates = new Candidates(proxy, cluster.dir);
  const gate = new Gate();
  const alone = (work: () => Promise<void>) => gate.through(work);
  const deps: FaultDeps = { proxy, cluster, random: inside, candidates, churn, alone };
  const counts: Record<string, number> = {};
  let isOver = false;
  try {
    await candidates.start();
    const [start, end] = [performance.now(), performance.now() + seconds * 1000];

    const changes = async () => {
      while (performance.now() < end) {
        await gate.through(() => churn.step());
        await sleep(1000 / CHANGES_PER_SECOND);
      }
    };
    const faults = async () => {
      const longest = Math.min(MAX_FAULT_MS_LENGTH, (seconds * 1000) / MIN_FAULTS);
      for (const name of inRounds([...Object.keys(FAULTS), ...Object.keys(KILLS)], choosing)) {
        if (performance.now() >= end) break;
        const mayKill = performance.now() - start < seconds * 1000 * KILLS_UNTIL;
        const [ms, calm] = [choosing() * longest, (choosing() * longest) / 2];
        const fault = FAULTS[name] ?? (mayKill ? KILLS[name] : undefined);
        if (fault === undefined) continue;
        counts[name] = (counts[name] ?? 0) + 1;
        await fault(deps, ms);
        await sleep(calm);
      }
    };
    const judge = async () => {
      await Promise.all([changes(), faults()]);
      await churn.resumeAll();
      const each = Object.entries(counts).map(pair => pair.join(' '));
      tell(`faults: ${each.join(', ')}; one of the two began to lead ${candidates.terms} times`);
      await converged(churn.model, proxy, SETTLE_MS);
      // There is a leader: silence is not enough.
      await churn.model.createPool('last', { labels: { tier: 'last' } });
      await converged(churn.model, proxy, SETTLE_MS);
      candidates.assertNeverBack();
      assertOnlyOurs(await createsAndDeletes(cluster));
      classes.judge(churn.handlers);
      taints.judge(churn.pods.late);
      const { taints: set, gone } = taints.counts();
      tell(`${set} NoExecute taints were set by pools with noExecute: Drain, after ${gone} pods were gone`);
      judgeHistory(history, tell, candidates.terms);
      tell(candidates.flatness());
      isOver = true;
    };
    const look = async () => {
      for (let reported = start; !isOver; await sleep(LOOK_MS)) {
        const rss = await candidates.look();
        if (performance.now() - reported < MINUTE_MS) continue;
        reported += MINUTE_MS;
        const minutes = Math.round((performance.now() - start) / MINUTE_MS);
        const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
        tell(`minute ${minutes}: ${churn.made} changes, ${total} faults, ${rss.toFixed(0)} MB`);
      }
    };
    await Promise.all([judge(), look()]);
  } finally {
    isOver = true;
    classes.end();
    taints.end();
    history.end();
    await candidates.end();
    await proxy.stop();
  }
}

/** Startup taints, and the limits of rollouts. */
function judgeHistory(history: History, tell: (line: string) => void, terms: number): void {
  const [nodes, spans] = [history.nodes(), new PoolSpans(history.pools())];
  const { given, born, again } = judgeStartup(nodes, STARTUP_IDS);
  // A process that begins to lead does not know what the records that were lost said.
  if (terms === 1) assert.deepEqual(again, [], 'nodes got startup taints that had been lifted');
  judgeReturns(nodes, spans);
  const { judged, full } = judgeRollouts(nodes, spans);
  tell(`${born} nodes were born in pools, ${given} startup taints were given, none twice`);
  tell(`${judged} nodes were changed by rollouts, never more at a time than allowed; ${full} took the last place`);
}

/** The product creates and deletes RuntimeClasses, ControllerRevisions of pools with a rollout, and evictions, only. */
function assertOnlyOurs(counts: Record<string, number>): void {
  const ours = /^(create|delete) (runtimeclasses node-pool-|controllerrevisions pool-\d+-[0-9a-f]+$|pods\/eviction )/;
  const others = Object.keys(counts).filter(what => !ours.test(what));
  assert.deepEqual(others, []);
}

/** All of them in a random order, repeatedly. */
function* inRounds<T>(all: readonly T[], random: Random): Generator<T> {
  for (;;) {
    const left = [...all];
    while (left.length > 0) yield* left.splice(Math.floor(random() * left.length), 1);
  }
}

/** One at a time. */
class Gate {
  #last: Promise<unknown> = Promise.resolve();

  through<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next;
    return next;
  }
}
