/**
 * Controllers that must converge without a resync: each wakeup that is lost shows as a pool or node that stays behind.
 *
 * Simulated: the real Controller, WorkQueue, Reconciler and EventHandlers on a fake clock, with up to 3 pools and 6
 * nodes. Pools and nodes are created, changed and removed at random, the process is killed and started again, and
 * requests fail (faulty-cluster.ts). Then the faults end and 500 s pass.
 *
 * Asserted at the end:
 * - no reconcile is still running, and none threw an error that is a bug,
 * - the cluster state has the newest version of each pool and node,
 * - no node is to be written, unless its rollout has stopped or has no slot now,
 * - deleted pools are gone; the status and the RuntimeClass of each other pool are current.
 *
 * Not simulated: several controllers, watches that miss events, budgets, DaemonSets, revisions, Events, a history of
 * field managers. Not asserted: how often and in which order objects are written, the limits of rollouts and drains
 * (rollout-simulation.ts), the values of others (plan.test.ts).
 */
import type { Log } from '../../../src/controller/log.ts';
import { planRuntimeClass, runtimeClassName } from '../../../src/nodepool/plan/runtime-class.ts';
import type { Node, NodePool, NodePoolSpec } from '../../../src/nodepool/types.ts';
import { differing, isDue, nodePlan } from '../../../src/reconciler/plan/node-plan.ts';
import { recordedMembers, rolloutStepOf } from '../../../src/reconciler/plan/rollout-plan.ts';
import type { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { Dice } from '../../e2e/dice.ts';
import { seeded } from '../../fault/random.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aNode, aPool, taint } from '../nodepool/fixtures.ts';
import { ControllerProcess } from './controller-process.ts';
import { FaultyCluster } from './faulty-cluster.ts';

const POOLS = ['a', 'b', 'c'] as const;
/** A label by which some pools select, and which some pools set. */
const CHAINED = 'chained';
/** Longer than all retries, waits of drains and times to settle. */
const QUIET_MS = 500_000;
/** Words of a message that comes from a bug. */
const BUG = /undefined|is not (?:a function|iterable)/;

/** What is not as desired at the end, and what happened before, in order. */
export interface Run {
  problems: string[];
  history: string[];
}

/** The same seed repeats the same run. Math.random, which the jitter of waits uses, is replaced meanwhile. */
export async function run(seed: number): Promise<Run> {
  const original = Math.random;
  Math.random = seeded(seed + 1);
  const simulation = new Convergence(seed);
  try {
    await simulation.happens();
    return { problems: simulation.problems(), history: simulation.history };
  } finally {
    Math.random = original;
  }
}

class Convergence {
  readonly history: string[] = [];
  readonly #clock = new FakeClock();
  readonly #random: Dice;
  readonly #cluster: FaultyCluster;
  /** Maximum number of requests at the same time. */
  readonly #concurrency: number;
  /** Kubelets and others write nodes all the time. */
  readonly #isBusy: boolean;
  readonly #nodeNames: readonly string[];
  /** How probable each field of a spec is, and each role of a node. Runs differ, so that rare fields meet more often. */
  readonly #chances: ReturnType<typeof chancesOf>;
  readonly #bugs: string[] = [];
  #process: ControllerProcess | undefined;

  constructor(seed: number) {
    this.#random = new Dice(seed);
    this.#cluster = new FaultyCluster(this.#clock, this.#random, line => this.#happened(line));
    this.#concurrency = this.#random.pick([1, 1, 2, 4, 32]);
    this.#isBusy = this.#random.chance(0.3);
    this.#chances = chancesOf(this.#random);
    this.#nodeNames = ['n0', ...['n1', 'n2', 'n3', 'n4', 'n5'].slice(0, 1 + this.#random.between(0, 4))];
  }

  async happens(): Promise<void> {
    for (const name of POOLS) if (this.#random.chance(0.8)) this.#createPool(name);
    for (const name of this.#nodeNames) this.#createNode(name);
    this.#start();
    const changes = 3 + this.#random.between(0, 24);
    for (let at = 0; at < changes; at++) {
      await this.#clock.advance(this.#random.upTo(this.#random.chance(0.7) ? 60 : 6_000));
      if (this.#isBusy) this.#touchNodes();
      if (this.#random.chance(0.06)) this.#restart();
      this.#change();
    }
    await this.#clock.advance(1_000);
    this.#cluster.isFaulty = false;
    this.#happened('the faults end');
    await this.#clock.advance(QUIET_MS);
  }

  #start(): void {
    const onBug = (text: string) => this.#bugs.push(text);
    const log: Log = (level, message) => {
      if (level !== 'debug') this.#happened(`${level}: ${message}`);
      if (BUG.test(message)) onBug(message);
    };
    const [clock, concurrency] = [this.#clock, this.#concurrency];
    this.#process = new ControllerProcess(this.#cluster, { clock, concurrency, log, onBug });
  }

  #restart(): void {
    this.#happened('the process is killed and started again');
    this.#process?.kill();
    this.#start();
  }

  #touchNodes(): void {
    for (const node of this.#cluster.nodes.values()) if (this.#random.chance(0.5)) this.#cluster.storeNode(node);
  }

  /** One change by users, kubelets or others. */
  #change(): void {
    const name = this.#random.pick(POOLS);
    const pool = this.#cluster.pools.get(name);
    const node = this.#cluster.nodes.get(this.#random.pick(this.#nodeNames));
    const isThere = pool !== undefined && pool.metadata.deletionTimestamp === undefined;
    const dice = this.#random.upTo(1);
    if (dice < 0.25 && node) this.#relabel(node);
    else if (dice < 0.35 && node) this.#removeNode(node.name);
    else if (dice < 0.45) this.#createNode(this.#random.pick(this.#nodeNames));
    else if (dice < 0.65 && isThere) this.#edit(pool);
    else if (dice < 0.75 && isThere) this.#deletePool(pool);
    else if (dice < 0.85) this.#createPool(name);
    else if (dice < 0.95 && node) this.#turn(node);
    else if (node) this.#removeTaints(node);
  }

  #createPool(name: string): void {
    if (this.#cluster.pools.has(name)) return;
    const creationTimestamp = this.#clock.wall().toISOString();
    const { spec } = this.#cluster.storePool(
      aPool(this.#spec(), { name, uid: this.#cluster.newUid(), creationTimestamp }),
    );
    this.#happened(`pool ${name} is created: ${JSON.stringify(spec)}`);
  }

  #edit(pool: NodePool): void {
    const { metadata } = pool;
    const spec = this.#spec();
    this.#cluster.storePool({ ...pool, spec, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 } });
    this.#happened(`pool ${metadata.name} is edited: ${JSON.stringify(spec)}`);
  }

  #deletePool(pool: NodePool): void {
    const deletionTimestamp = this.#clock.wall().toISOString();
    this.#cluster.storePool({ ...pool, metadata: { ...pool.metadata, deletionTimestamp } });
    this.#happened(`pool ${pool.metadata.name} is deleted`);
    if (this.#random.chance(0.5)) this.#createPool(pool.metadata.name);
  }

  #createNode(name: string): void {
    if (this.#cluster.nodes.has(name)) return;
    const [uid, creationTimestamp] = [this.#cluster.newUid(), this.#clock.wall().toISOString()];
    const ready = this.#random.chance(0.9);
    const { labels } = this.#cluster.storeNode(
      aNode({ name, uid, labels: this.#labels(), ready, readySince: this.#seconds(), creationTimestamp }),
    );
    this.#cluster.addPods(name, this.#random.between(0, 2));
    this.#happened(`node ${name} is created: ${JSON.stringify(labels)}`);
  }

  #relabel(node: Node): void {
    const isKept = (key: string) => !key.startsWith('node-role') && key !== CHAINED;
    const kept = Object.fromEntries(Object.entries(node.labels).filter(([key]) => isKept(key)));
    const changed = this.#random.chance(0.1) ? withoutRecord(node) : node;
    const { labels } = this.#cluster.storeNode({ ...changed, labels: { ...kept, ...this.#labels() } });
    this.#happened(`node ${node.name} has other labels: ${JSON.stringify(labels)}`);
  }

  #removeNode(name: string): void {
    this.#cluster.removeNode(name);
    this.#happened(`node ${name} is removed`);
    if (this.#random.chance(0.7)) this.#createNode(name);
  }

  #turn(node: Node): void {
    this.#cluster.storeNode({ ...node, ready: !node.ready, readySince: this.#seconds() });
    this.#happened(`node ${node.name} turns ${node.ready ? 'NotReady' : 'Ready'}`);
  }

  #removeTaints(node: Node): void {
    this.#cluster.storeNode({ ...(this.#random.chance(0.5) ? node : withoutRecord(node)), taints: [] });
    this.#happened(`node ${node.name} loses its taints`);
  }

  #labels(): Record<string, string> {
    const roles = POOLS.filter(() => this.#random.chance(this.#chances.role)).map(name => [
      `node-role.kubernetes.io/${name}`,
      '',
    ]);
    const chained = this.#random.chance(0.3) ? { [CHAINED]: this.#random.pick(['1', '2']) } : {};
    return { kept: '1', ...Object.fromEntries(roles), ...chained };
  }

  #spec(): NodePoolSpec {
    const random = this.#random;
    const { taints, drain, rollout, paused, chained, startup, handler } = this.#chances;
    const spec: NodePoolSpec = { labels: { tier: random.pick(['1', '2', '3']) } };
    if (random.chance(taints)) {
      const effect = random.pick(['NoSchedule', 'NoExecute']);
      spec.taints = [taint(`dedicated=${random.pick(['u', 'v'])}:${effect}`)];
    }
    if (random.chance(drain)) spec.noExecute = 'Drain';
    if (random.chance(rollout)) {
      const strategy = { maxConcurrent: random.pick([1, 2]), settleSeconds: random.pick([0, 0, 1, 5]) };
      spec.rollout = { ...strategy, stopOnNotReady: random.chance(0.5), ...(random.chance(0.5) ? { canary: 1 } : {}) };
    }
    if (random.chance(paused)) spec.paused = true;
    if (random.chance(0.3)) spec.unmanaged = 'Remove';
    if (random.chance(chained)) {
      const label = { [CHAINED]: random.pick(['1', '2']) };
      if (random.chance(0.5)) spec.nodeSelector = label;
      else spec.labels = { ...spec.labels, ...label };
    }
    if (random.chance(startup)) {
      const until = random.chance(0.5) ? { until: { nodeCondition: 'Ready' } } : {};
      spec.startupTaints = [{ ...taint('starting:NoSchedule'), ...until }];
    }
    if (random.chance(handler)) spec.handler = random.pick(['h1', 'h2']);
    return spec;
  }

  #seconds(): number {
    return Math.floor(this.#clock.wall().getTime() / 1_000);
  }

  #happened(line: string): void {
    this.history.push(`${(this.#clock.now() / 1_000).toFixed(3)} ${line}`);
  }

  problems(): string[] {
    if (this.#process === undefined) return ['no process has started'];
    const { state, running } = this.#process;
    return [
      ...this.#bugs,
      ...[...running].map(name => `the reconcile of pool ${name} does not end`),
      ...[...this.#cluster.nodes.values()].flatMap(node => this.#problemOfNode(node, state)),
      ...[...this.#cluster.pools.values()].flatMap(pool => this.#problemsOfPool(pool, state)),
    ];
  }

  #problemOfNode({ name, resourceVersion }: Node, state: ClusterState): string[] {
    if (state.node(name)?.resourceVersion !== resourceVersion) return [`the state of node ${name} is old`];
    const plan = nodePlan(state, name);
    if (plan === undefined || !isDue(plan)) return [];
    if (plan.kind !== 'rollout step') return [`node ${name} is to be written: ${JSON.stringify(plan)}`];
    const pool = state.pool(plan.previous ?? '');
    if (pool === undefined) return [`node ${name} waits for the rollout of a pool that does not exist`];
    const step = rolloutStepOf(state, pool, this.#cluster.serverTime());
    const mayWait = step.isStopped || step.next.length === 0;
    return mayWait ? [] : [`node ${name} waits, and the rollout may continue: ${JSON.stringify(step)}`];
  }

  #problemsOfPool(pool: NodePool, state: ClusterState): string[] {
    const { metadata, status } = pool;
    const { name } = metadata;
    if (metadata.deletionTimestamp !== undefined) return [`pool ${name} is still being deleted`];
    if (state.pool(name)?.metadata.resourceVersion !== metadata.resourceVersion)
      return [`the state of pool ${name} is old`];
    if (status === undefined) return [`pool ${name} has no status`];
    const isTrue = (type: string) => status.conditions?.find(each => each.type === type)?.status === 'True';
    const members = state.members(name);
    const written = {
      nodeCount: status.nodeCount,
      readyNodeCount: status.readyNodeCount ?? 0,
      observedGeneration: status.observedGeneration,
      applied: isTrue('Applied'),
      conflict: isTrue('Conflict'),
    };
    const desired: typeof written = {
      nodeCount: members.length,
      readyNodeCount: members.filter(({ ready }) => ready).length,
      observedGeneration: metadata.generation,
      applied: differing(state, name).length === 0,
      conflict: state.lost(name).length > 0,
    };
    const [isNow, must] = [JSON.stringify(written), JSON.stringify(desired)];
    const plan = planRuntimeClass(
      pool,
      this.#cluster.classes.get(runtimeClassName(name)),
      recordedMembers(pool, state),
    );
    return [
      ...(isNow === must ? [] : [`the status of pool ${name} is ${isNow}, not ${must}`]),
      ...(plan.kind === 'none' ? [] : [`the RuntimeClass of pool ${name} is not current: ${JSON.stringify(plan)}`]),
    ];
  }
}

function chancesOf(random: Dice) {
  return {
    role: random.pick([0.3, 0.45, 0.8]),
    taints: random.pick([0.3, 0.5, 1]),
    drain: random.pick([0.2, 0.6, 1]),
    rollout: random.pick([0, 0.4, 1]),
    paused: random.pick([0, 0.1, 0.4]),
    chained: random.pick([0, 0.4, 0.8]),
    startup: random.pick([0, 0.2, 0.5]),
    handler: random.pick([0, 0.2, 0.5]),
  };
}

function withoutRecord({ record: _, ...node }: Node): Node {
  return node;
}
