/**
 * Other writers of the same nodes and pools: people with kubectl, kubelets, an autoscaler. The model remembers what they
 * set, which has to be there at the end.
 */
import { API_VERSION, type NodePoolSpec, type Taint } from '../../src/nodepool/types.ts';
import { role } from '../e2e/test-env.ts';
import { GROUPS, POOLS as NAMES } from './chaos-commands.ts';
import { EvictedPods, evicting } from './evicted-pods.ts';
import { isMembership, type LiveNode } from './expected.ts';
import { DRIFT, type Labels, type Model, POOLS, taintId } from './model.ts';
import { AGENT_TAINT, reclaim, toggleAgent, upgradeDriver } from './other-software.ts';
import { pick, type Random, weighted } from './random.ts';

/** A key that `adopt` and `unmanaged: Remove` leave alone. */
const NOTE = 'chaos.kubernetes.io/note';
const THEIRS: Taint = { key: 'chaos.kubernetes.io/not-ready', effect: 'NoSchedule' };

export class Others {
  readonly names: string[];
  readonly pods: EvictedPods;
  /** How many changes were made. */
  made = 0;
  readonly #model: Model;
  readonly #random: Random;

  constructor(model: Model, random: Random, nodes: number) {
    this.#model = model;
    this.pods = new EvictedPods(() => model.client);
    this.#random = random;
    this.names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`);
  }

  /** Creates nodes, and most of the pools. */
  async prepare(): Promise<void> {
    for (const name of this.names) await this.#birth(name);
    for (const pool of NAMES.slice(0, -GROUPS.length)) await this.#replacePool(pool);
  }

  /** Makes one change; returns its description. */
  async step(): Promise<string> {
    const random = this.#random;
    this.made += 1;
    const node = pick(random, this.names);
    const [pool, other] = [pick(random, NAMES), pick(random, NAMES)];
    const [group, isOn] = [pick(random, GROUPS), random() < 0.6];
    const choices: [number, () => Promise<string>][] = [
      [6, () => this.#note(node, isOn ? `n${this.made}` : null)],
      [5, () => this.#toggleTaint(node)],
      [4, () => this.#unjudged(node, { tier: isOn ? `${DRIFT}-${this.made}` : null })],
      [3, () => this.#untaint(node, pool)],
      [5, () => this.#unjudged(node, { ...off(other), ...(isOn ? role(pool) : {}) })],
      [2, () => this.#unjudged(node, { group: isOn ? group : null })],
      [3, () => this.#driftAnnotation(node, isOn ? `${DRIFT}-${this.made}` : null)],
      [2, () => this.#removeStartup(node)],
      [2, () => this.#report(node, isOn ? 'True' : 'False')],
      [1, () => this.#replaceNode(node)],
      [1, () => this.#reclaim(node)],
      [3, () => toggleAgent(this.#model, node)],
      [2, () => upgradeDriver(this.#model, node, random)],
      [2, () => this.#flap(node)],
      [2, () => this.#replacePool(pool)],
      [4, () => this.#heartbeat(node)],
      [6, () => this.pods.bind(node, random)],
      [1, () => this.#drift(node, ['evicts:NoExecute', 'evicts:NoSchedule'])],
    ];
    return weighted(random, choices)();
  }

  async #birth(name: string): Promise<void> {
    const random = this.#random;
    const [pool, isIn, hasTaint, group] = [pick(random, NAMES), random() < 0.6, random() < 0.4, pick(random, GROUPS)];
    const own = { team: 'theirs', [NOTE]: `birth-${this.made}` };
    await this.#model.addNodes({
      name,
      labels: { ...own, group, ...(isIn ? role(pool) : {}) },
      annotations: { shared: `birth-${this.made}`, theirs: 'x' },
      taints: [...(hasTaint ? [THEIRS] : []), ...(isIn ? [AGENT_TAINT] : [])],
    });
  }

  async #note(node: string, value: string | null): Promise<string> {
    await this.#model.label(node, { [NOTE]: value });
    return `label ${node} ${NOTE}=${value}`;
  }

  async #toggleTaint(node: string): Promise<string> {
    const has = this.#model.nodes.get(node)?.taints.some(taint => taintId(taint) === taintId(THEIRS));
    await (has ? this.#model.untaint(node, taintId(THEIRS)) : this.#model.taint(node, THEIRS));
    return `${has ? 'untaint' : 'taint'} ${node} ${taintId(THEIRS)}`;
  }

  /** Labels that pools set or select by. */
  async #unjudged(node: string, labels: Labels): Promise<string> {
    await this.#model.drift(node, labels);
    return `label ${node} ${JSON.stringify(labels)}`;
  }

  /** One that pools set. */
  async #driftAnnotation(node: string, value: string | null): Promise<string> {
    await this.#model.drift(node, {}, [], { note: value });
    return `annotate ${node} note=${value}`;
  }

  async #untaint(node: string, pool: string): Promise<string> {
    const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
    return this.#drift(
      node,
      effects.map(effect => taintId({ key: pool, effect })),
    );
  }

  /** Removes taints that pools set. */
  async #drift(node: string, taintIds: readonly string[]): Promise<string> {
    await this.#model.drift(node, {}, taintIds);
    return `untaint ${node} ${taintIds}`;
  }

  async #removeStartup(node: string): Promise<string> {
    await this.#model.removeStartup(node, ['setup:NoSchedule']);
    return `untaint ${node} setup`;
  }

  async #report(node: string, status: 'True' | 'False'): Promise<string> {
    await this.#model.report(node, 'AgentReady', status);
    return `condition of ${node}: AgentReady=${status}`;
  }

  /** Deletes a node and creates another one under its name. */
  async #replaceNode(node: string): Promise<string> {
    await this.#model.removeNode(node);
    await this.pods.forget(node);
    await this.#birth(node);
    return `replace node ${node}`;
  }

  async #reclaim(node: string): Promise<string> {
    await reclaim(this.#model, node);
    return `reclaim and ${await this.#replaceNode(node)}`;
  }

  /** A labeller restarts: all labels by which pools select the node are gone for a moment. */
  async #flap(node: string): Promise<string> {
    const { metadata } = (await this.#model.client.expect('GET', `/api/v1/nodes/${node}`)) as LiveNode;
    const found = Object.entries(metadata.labels ?? {}).filter(([key]) => isMembership(key));
    await this.#model.drift(node, Object.fromEntries(found.map(([key]) => [key, null])));
    await this.#model.drift(node, Object.fromEntries(found));
    return `flap ${node}`;
  }

  /** As `kubectl delete --wait=false` and `kubectl create`: the create fails while the old pool is terminating. */
  async #replacePool(name: string): Promise<string> {
    const { client } = this.#model;
    const random = this.#random;
    const value = `${name}-v${this.made}`;
    const [hasTeam, hasTaint, hasHandler] = [random() < 0.5, random() < 0.7, random() < 0.5];
    const { taint, ...drain } = evicting(value);
    const evicts = random() < 0.4;
    const taints: Taint[] = [
      ...(hasTaint ? [{ key: name, value, effect: 'NoSchedule' as const }] : []),
      ...(evicts ? [taint] : []),
    ];
    const spec: NodePoolSpec = {
      labels: { tier: value, [`only-${name}`]: value, ...(hasTeam ? { team: name } : {}) },
      ...(taints.length > 0 ? { taints } : {}),
      ...(evicts ? drain : {}),
      ...(hasHandler ? { handler: 'runc' } : {}),
      ...(hasTeam ? { annotations: { note: value, shared: name } } : {}),
      ...(hasTaint ? { startupTaints: [{ key: 'setup', value, effect: 'NoSchedule' }] } : {}),
    };
    const deleted = await client.request('DELETE', `${POOLS}/${name}`);
    const pool = { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec };
    const created = await client.request('POST', POOLS, pool);
    return `replace pool ${name}: ${deleted.status}, ${created.status}`;
  }

  async #heartbeat(node: string): Promise<string> {
    await this.#model.heartbeat(node);
    return `heartbeat ${node}`;
  }
}

const off = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: null });
