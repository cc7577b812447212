/** Two `reconcile --watch --leader-elect` behind one proxy, restarted when they exit, as in a cluster. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWrite } from './asked.ts';
import { Child } from './child.ts';
import { assertNeverBack } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { kubeconfigOf } from './proxy-kubeconfig.ts';

interface Life {
  child: Child;
  /** Identifies its requests. */
  name: string;
  /** Whether the test ended it. */
  isKilled: boolean;
  /** When it was first seen to lead, on performance.now()'s clock. */
  ledFrom: number | undefined;
  /** Resident megabytes while it is leader, after a warm-up. */
  rss: number[];
}

const CANDIDATES = 2;
/** The log line of a new leader. */
const LEADS = / became leader: /;
/** The warm-up after it became leader. */
const WARM_UP_MS = 120_000;
const MIN_SAMPLES = 60;
const MAX_GROWTH = { share: 0.1, megabytes: 5 };

export class Candidates {
  readonly #proxy: FaultProxy;
  readonly #folder: string;
  /** All processes so far; the last ones run. */
  readonly #lives: Life[] = [];
  #running: Life[] = [];
  #isOver = false;

  constructor(proxy: FaultProxy, folder: string) {
    this.#proxy = proxy;
    this.#folder = folder;
  }

  /** Resolves when all have synced. */
  async start(): Promise<void> {
    for (let each = 0; each < CANDIDATES; each++) this.#running.push(this.#begin());
    await Promise.all(this.#running.map(({ child }) => child.synced()));
  }

  /** The last writer of the Lease, if it still runs; else any. */
  leader(): Child {
    return this.#leader().child;
  }

  async killLeader(): Promise<void> {
    const life = this.#leader();
    life.isKilled = true;
    await life.child.end('SIGKILL');
  }

  /**
   * To be called regularly: replaces ended processes, and returns the megabytes of the leader, NaN without one.
   * Throws when one ended unexpectedly.
   */
  async look(): Promise<number> {
    for (const [at, life] of this.#running.entries()) {
      if (life.child.isAlive || this.#isOver) continue;
      assertMayEnd(life);
      this.#running[at] = this.#begin();
    }
    return this.#measure();
  }

  /** The number of leader changes. */
  get terms(): number {
    return this.#lives.reduce((sum, { child }) => sum + child.lines(LEADS).length, 0);
  }

  assertNeverBack(): void {
    const byProcess = Map.groupBy(this.#proxy.requests, ({ process }) => process);
    assert.ok(byProcess.size >= CANDIDATES && !byProcess.has(undefined), 'the processes cannot be distinguished');
    for (const requests of byProcess.values()) assertNeverBack(requests);
  }

  /** Reports the memory of leaders; throws when it grew. Ignores runs with too few samples. */
  flatness(): string {
    const judged = this.#lives.map(({ rss }) => rss).filter(({ length }) => length >= MIN_SAMPLES);
    const texts = judged.map(samples => {
      const half = Math.floor(samples.length / 2);
      const [before, after] = [median(samples.slice(0, half)), median(samples.slice(half))];
      const text = `median ${before.toFixed(0)} MB in the first half of a leader's time, ${after.toFixed(0)} MB in the second`;
      assert.ok(after <= before * (1 + MAX_GROWTH.share) + MAX_GROWTH.megabytes, text);
      return text;
    });
    return `memory: ${texts.join('; ') || 'nobody led long enough to judge'}`;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running.filter(({ child }) => child.isAlive).map(({ child }) => child.end('SIGKILL')));
  }

  #leader(): Life {
    const written = this.#proxy.requests.findLast(
      asked => isWrite(asked) && asked.path.includes('/leases') && (asked.status ?? 500) < 300,
    );
    return this.#running.find(({ name }) => name === written?.process) ?? this.#running[0] ?? assert.fail('no process');
  }

  #begin(): Life {
    const name = `life-${this.#lives.length + 1}`;
    const kubeconfig = join(this.#folder, `${name}.kubeconfig`);
    writeFileSync(kubeconfig, kubeconfigOf(`${this.#proxy.url}/${name}`, {}), { mode: 0o600 });
    const child = new Child(kubeconfig, ['--leader-elect']);
    const life: Life = { child, name, isKilled: false, ledFrom: undefined, rss: [] };
    this.#lives.push(life);
    return life;
  }

  async #measure(): Promise<number> {
    const life = this.#leader();
    const { rss } = await life.child.memory().catch(() => ({ rss: Number.NaN }));
    if (life.child.lines(LEADS).length > 0) life.ledFrom ??= performance.now();
    if (performance.now() - (life.ledFrom ?? Infinity) > WARM_UP_MS && !Number.isNaN(rss)) life.rss.push(rss);
    return rss;
  }
}

/** Expected ends: a start without the server or the CRD, and a lost lease. */
function assertMayEnd({ child, isKilled }: Life): void {
  const log = child.log();
  const mayEnd = isKilled || !log.includes('caches have synced') || log.includes('lost the lease');
  assert.ok(mayEnd, `reconcile --watch has ended:\n${log.slice(-2000)}`);
}

function median(samples: number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
}
