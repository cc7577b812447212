/**
 * Rounds of random commands beside up to three `reconcile --watch`, both killed at random, while others write to the same
 * nodes and pools. After each round all of them end, one `reconcile` follows, and the oracle judges. The same seed makes the
 * same choices.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { type Command, nextCommand } from './chaos-commands.ts';
import { disorder } from './chaos-oracle.ts';
import { Others } from './chaos-others.ts';
import { Child } from './child.ts';
import { listenToTaints, type TaintLog } from './evicted-pods.ts';
import { readLive } from './expected.ts';
import { Model } from './model.ts';
import { auditMark, writes } from './oracle.ts';
import { type Random, seeded } from './random.ts';

export interface ChaosOptions {
  seconds: number;
  seed: number;
  nodes: number;
  /** Called with progress about once a minute, and with the end. */
  tell: (line: string) => void;
}

export interface ChaosCounts {
  commands: number;
  /** Commands that were not killed and exited with 1 or 3. */
  refused: number;
  changes: number;
  kills: number;
}

/** Commands at the same time. */
const LANES = 2;
const WATCHERS = 3;
const MAX_LIFE_MS_LENGTH = 8_000;
const MAX_START_MS_LENGTH = 2_000;
const MAX_PAUSE_MS_LENGTH = 2_000;
const POLL_MS = 20;
const OTHERS_PAUSE_MS = 250;
const ROUND_MS = 30_000;
const MINUTE_MS = 60_000;
/** A command that runs longer hangs. */
const COMMAND_MS = 120_000;
/** How many entries of an object's history a failure shows. */
const SHOWN_LINES = 60;
/** Done; refused, for example as a pool does not exist; the status of some pool is not 200. */
const EXPECTED_EXITS = [0, 1, 3];

/** Throws AssertionError with what differs. The cluster has the NodePool resource, and an audit log. */
export async function chaos(cluster: ControlPlane, options: ChaosOptions): Promise<ChaosCounts> {
  const run = new Chaos(cluster, options);
  return run.run();
}

class Chaos {
  readonly #cluster: ControlPlane;
  readonly #options: ChaosOptions;
  readonly #model: Model;
  readonly #others: Others;
  /** The actions of all, with the seconds since the start. */
  readonly #history: string[] = [];
  readonly #start = performance.now();
  readonly #counts: ChaosCounts = { commands: 0, refused: 0, changes: 0, kills: 0 };

  constructor(cluster: ControlPlane, options: ChaosOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#model = new Model(() => cluster);
    this.#others = new Others(this.#model, seeded(options.seed), options.nodes);
  }

  async run(): Promise<ChaosCounts> {
    const { seconds, seed, tell } = this.#options;
    const taints = await listenToTaints(this.#cluster.etcdUrl);
    await this.#others.prepare();
    // A random series for each, so that the timing of one does not change the choices of another.
    const lanes = Array.from({ length: LANES }, (_, lane) => seeded(seed + 1 + lane));
    const watches = Array.from({ length: WATCHERS }, (_, slot) => seeded(seed + 100 + slot));
    const ticker = setInterval(() => tell(this.#summary()), MINUTE_MS);
    try {
      for (let left = seconds * 1000; left > 0; left -= ROUND_MS) {
        await this.#round(Math.min(left, ROUND_MS), lanes, watches);
        await this.#judge(taints);
      }
    } finally {
      clearInterval(ticker);
      taints.end();
    }
    const { taints: set, gone } = taints.counts();
    tell(`${set} NoExecute taints were set by pools with noExecute: Drain, after ${gone} pods were gone`);
    tell(this.#summary());
    return this.#counts;
  }

  async #round(ms: number, lanes: readonly Random[], watches: readonly Random[]): Promise<void> {
    const end = performance.now() + ms;
    const isOver = () => performance.now() >= end;
    const actors = [
      this.#change(isOver),
      ...lanes.map(random => this.#command(random, isOver)),
      ...watches.map((random, slot) => this.#watch(slot, random, isOver)),
    ];
    const failed = (await Promise.allSettled(actors)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #change(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      this.#note(`others: ${await this.#others.step()}`);
      this.#counts.changes += 1;
      await sleep(OTHERS_PAUSE_MS);
    }
  }

  async #command(random: Random, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const command = nextCommand(random, this.#others.names);
      await this.#run(command);
      await sleep(command.pauseMs);
    }
  }

  async #run({ args, stdin, killAfterMs }: Command): Promise<void> {
    const [program, ...first] = productCommand();
    const child = spawn(program, [...first, ...args], { env: this.#env() });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text;
    });
    child.stdout.resume();
    // It may be killed before it reads stdin.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin ?? '');
    const from = this.#note(`${args.join(' ')} begins`);
    const isKilled = await this.#endOf(child, killAfterMs);
    const said = `${args.join(' ')} (from ${from}): ${isKilled ? 'killed' : child.exitCode}`;
    this.#note(`${said}; ${stderr.trim().replaceAll('\n', ' / ')}`);
    this.#counts.commands += 1;
    if (child.exitCode === 1) this.#counts.refused += 1;
    assert.ok(isKilled || EXPECTED_EXITS.includes(child.exitCode ?? -1), `${said}\n${stderr}`);
    assert.doesNotMatch(stderr, /this is a bug|\n\s+at .*:\d+:\d+/, `${said}\n${stderr}`);
  }

  /** Whether it was killed as planned. */
  async #endOf(child: ChildProcess, killAfterMs: number | undefined): Promise<boolean> {
    const ended = new Promise(resolve => child.once('close', resolve));
    const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs ?? COMMAND_MS);
    await ended;
    clearTimeout(timer);
    if (child.signalCode === null || killAfterMs === undefined) return false;
    this.#counts.kills += 1;
    return true;
  }

  /** Runs watches one after the other. Every other one is killed while it starts, the rest some time later. */
  async #watch(slot: number, random: Random, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const [pause, startsWhole, life] = [random() * MAX_PAUSE_MS_LENGTH, random() < 0.5, random()];
      await sleep(pause);
      const child = new Child(this.#cluster.kubeconfig, []);
      this.#note(`watch ${slot} begins`);
      const hasSynced = () => child.log().includes('caches have synced');
      while (startsWhole && child.isAlive && !hasSynced() && !isOver()) await sleep(POLL_MS);
      const until = performance.now() + life * (startsWhole ? MAX_LIFE_MS_LENGTH : MAX_START_MS_LENGTH);
      while (child.isAlive && performance.now() < until && !isOver()) await sleep(POLL_MS);
      const { isAlive } = child;
      await child.end('SIGKILL');
      this.#note(`watch ${slot} killed; ${child.log().trim().replaceAll('\n', ' / ')}`);
      assert.ok(isAlive, `reconcile --watch has ended:\n${child.log()}`);
      this.#counts.kills += 1;
    }
  }

  async #judge(taints: TaintLog): Promise<void> {
    const last = await cli(this.#cluster, ['reconcile', '--yes']);
    this.#note(`reconcile after the round: ${last.code}; ${last.stderr.trim().replaceAll('\n', ' / ')}`);
    assert.ok(last.code === 0 || last.code === 3, `reconcile after the round: ${last.code}\n${last.stderr}`);
    const wrong = disorder(await readLive(this.#model), this.#model.nodes);
    assert.deepEqual(wrong, [], `${wrong.join('\n')}\n${this.#historyOf(wrong)}`);
    taints.judge(this.#others.pods.late);
    const mark = await auditMark(this.#cluster);
    const again = await cli(this.#cluster, ['reconcile', '--yes']);
    assert.equal(again.code, last.code, again.stderr);
    assert.deepEqual(await writes(this.#cluster, mark), {}, 'a second reconcile writes');
  }

  /** The history of the first object that the differences name, and of all. */
  #historyOf(wrong: readonly string[]): string {
    const name = /^\w+ ([\w-]+):/.exec(wrong[0] ?? '')?.[1] ?? '';
    const lines = this.#history.filter(line => new RegExp(`\\b${name}\\b`).test(line));
    return lines.slice(-SHOWN_LINES).join('\n');
  }

  /** Returns the seconds of the entry. */
  #note(line: string): string {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(1);
    this.#history.push(`${seconds} ${line}`);
    return seconds;
  }

  #summary(): string {
    const { commands, refused, changes, kills } = this.#counts;
    return `${commands} commands, ${refused} of them refused, ${changes} changes by others, ${kills} SIGKILLs`;
  }

  #env(): NodeJS.ProcessEnv {
    return { ...process.env, KUBECONFIG: this.#cluster.kubeconfig, NO_COLOR: '1' };
  }
}
