/** Random faults and random changes for a while, then quiet, then the oracle. The same seed makes the same choices. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { Child } from './child.ts';
import { Model } from './model.ts';
import { assertNeverBack, createsAndDeletes } from './oracle.ts';
import { startProxy } from './proxy.ts';
import { Churn } from './soak-churn.ts';
import { FAULTS, KILLED } from './soak-faults.ts';
import { settled } from './world.ts';

export interface SoakOptions {
  seconds: number;
  seed: number;
  nodes: number;
  /** Told of what is going on, about once a minute. */
  tell: (line: string) => void;
}

const CHANGES_PER_SECOND = 20;
/** A fault's time, and the calm after it is at most half of that: about 13 faults in the shortest soak. */
const LONGEST_FAULT_MS = 8_000;
const LEAST_FAULTS = 10;
const MINUTE_MS = 60_000;
const SAMPLE_MS = 2_000;
/** Back-off may have reached 30 s, and a silent watch takes 45 s to be noticed. */
const SETTLE_MS = 180_000;
/** Kills come in this part of the time: memory is judged over one process. */
const KILLS_UNTIL = 0.25;
const WARM_UP_MS = 120_000;
const MOST_GROWTH = { share: 0.1, megabytes: 5 };

/** Throws AssertionError with what differs. The cluster has the NodePool resource, and an audit log. */
export async function soak(cluster: ControlPlane, { seconds, seed, nodes, tell }: SoakOptions): Promise<void> {
  // Two series: how long a fault takes does not change which change comes next.
  const longest = Math.min(LONGEST_FAULT_MS, (seconds * 1000) / LEAST_FAULTS);
  const churn = new Churn(new Model(() => cluster), seeded(seed));
  const random = seeded(seed + 1);
  const model = churn.model;
  await churn.prepare(nodes);
  const proxy = await startProxy(cluster, cluster.dir);
  /** Each process with the number of the first request of its life. */
  const lives: { child: Child; from: number }[] = [];
  const restart = () => void lives.push({ child: new Child(proxy.kubeconfig, []), from: proxy.requests.length });
  const child = () => lives.at(-1)?.child ?? assert.fail('no process');
  restart();
  let born = performance.now();
  try {
    await child().synced();
    const [start, end] = [performance.now(), performance.now() + seconds * 1000];
    const gate = new Gate();
    const memory: { at: number; rss: number }[] = [];
    const counts: Record<string, number> = {};

    const changes = async () => {
      while (performance.now() < end) {
        await gate.through(() => churn.step());
        await sleep(1000 / CHANGES_PER_SECOND);
      }
    };
    const faults = async () => {
      const deps = {
        ...{ proxy, cluster, random, child, alone: (work: () => Promise<void>) => gate.through(work) },
        restart: () => {
          restart();
          born = performance.now();
        },
      };
      while (performance.now() < end) {
        const mayKill = performance.now() - start < seconds * 1000 * KILLS_UNTIL;
        const all = Object.entries({ ...FAULTS, ...(mayKill ? { killed: KILLED } : {}) });
        const [name, fault] = all[Math.floor(random() * all.length)] ?? assert.fail();
        counts[name] = (counts[name] ?? 0) + 1;
        await fault(deps, random() * longest);
        await sleep((random() * longest) / 2);
      }
    };
    const watch = async () => {
      for (let told = start; performance.now() < end; await sleep(SAMPLE_MS)) {
        const sample = await child()
          .memory()
          .catch(() => undefined);
        if (sample === undefined || Number.isNaN(sample.rss)) continue;
        memory.push({ at: performance.now(), rss: sample.rss });
        if (performance.now() - told < MINUTE_MS) continue;
        told += MINUTE_MS;
        const minutes = Math.round((performance.now() - start) / MINUTE_MS);
        const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
        tell(`minute ${minutes}: ${churn.made} changes, ${total} faults, ${sample.rss.toFixed(0)} MB`);
      }
    };
    await Promise.all([changes(), faults(), watch()]);
    tell(
      `faults: ${Object.entries(counts)
        .map(pair => pair.join(' '))
        .join(', ')}`,
    );
    assert.ok(child().isAlive, `reconcile --watch has ended:\n${child().log().slice(-2000)}`);
    await settled(model, proxy, SETTLE_MS);
    for (const [index, { from }] of lives.entries()) {
      assertNeverBack(proxy.requests.slice(from, lives[index + 1]?.from));
    }
    assertNoExtraClasses(await createsAndDeletes(cluster), churn);
    tell(flatness(memory.filter(({ at }) => at - born > WARM_UP_MS).map(({ rss }) => rss)));
  } finally {
    await child().end('SIGKILL');
    await proxy.stop();
  }
}

/**
 * A RuntimeClass is made when its pool gets a handler, or another one, never more often. What a server was doing when it
 * was stopped is in no audit log, so that those counts are no sums: which classes are there in the end, the model says.
 */
function assertNoExtraClasses(counts: Record<string, number>, { handlers }: Churn): void {
  for (const [pool, given] of handlers) {
    const made = counts[`create runtimeclasses node-pool-${pool}`] ?? 0;
    assert.ok(made <= given, `RuntimeClass node-pool-${pool} was made ${made} times for ${given} handlers`);
  }
}

/** Says how memory went; throws when it grew. Too few samples prove nothing. */
function flatness(samples: number[]): string {
  const half = Math.floor(samples.length / 2);
  if (half < 30) return 'memory: too short a time to judge';
  const [before, after] = [median(samples.slice(0, half)), median(samples.slice(half))];
  const text = `memory: median ${before.toFixed(0)} MB in the first half of the last process's life, ${after.toFixed(0)} MB in the second`;
  assert.ok(after <= before * (1 + MOST_GROWTH.share) + MOST_GROWTH.megabytes, text);
  return text;
}

function median(samples: number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
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

/** Mulberry32: small, and good enough to choose by. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
