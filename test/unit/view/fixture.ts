/** A small cluster for the screens: three pools, six nodes, two events, at a fixed time. */
import type { PoolEventRecord } from '../../../src/kube/resources/events.ts';
import type { Node, NodePool, ResourceList } from '../../../src/nodepool/types.ts';
import { makeStyle } from '../../../src/print/style.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { contentsOf, screenDataOf } from '../../../src/view/contents.ts';
import { clampSelection, type Key } from '../../../src/view/keys.ts';
import { initialState, placeOf, type ScreenData, type ViewState } from '../../../src/view/places.ts';
import { pageOf, type ScreenSize, screenLines } from '../../../src/view/screen.ts';
import { paste, press } from '../../../src/view/state.ts';
import type { WatchOutage } from '../../../src/view/view.ts';
import type { LiveUsage } from '../../../src/view/view-usage.ts';

export const NOW = new Date('2026-11-21T12:00:00Z');
export const PLAIN = makeStyle(false);

export function role(pool: string): Record<string, string> {
  return { [`node-role.kubernetes.io/${pool}`]: '' };
}

export function node(name: string, more: Partial<Node> = {}): Node {
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-11-18T12:00:00Z',
    labels: {},
    taints: [],
    ready: true,
    unschedulable: false,
    allocatable: { cpu: '4', memory: '16Gi', pods: '110' },
    ...more,
  };
}

export function pool(name: string, status: number | undefined, more: Partial<NodePool> = {}): NodePool {
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name, uid: `uid-${name}`, creationTimestamp: '2026-11-01T00:00:00Z', generation: 1 },
    spec: {},
    ...(status === undefined ? {} : { status: { status, nodeCount: 0 } }),
    ...more,
  };
}

const GPU: ResourceList = { cpu: '32', memory: '128Gi', pods: '110', 'nvidia.com/gpu': '8' };

const conflict = {
  status: 409,
  nodeCount: 0,
  conditions: [
    {
      type: 'Conflict' as const,
      status: 'True' as const,
      reason: 'NodeConflict',
      message: 'node gpu-1 belongs to pool gpu',
      lastTransitionTime: '2026-11-20T00:00:00Z',
    },
  ],
};

export interface Fixture {
  clusterState: ClusterState;
  events: (readonly [string, PoolEventRecord])[];
  outages: WatchOutage[];
}

export function fixture(): Fixture {
  const nodes = [
    node('gpu-1', { labels: { ...role('gpu'), ...role('spare') }, allocatable: GPU }),
    node('gpu-2', { labels: role('gpu'), allocatable: GPU, unschedulable: true }),
    node('worker-1', { labels: role('worker'), taints: [{ key: 'dedicated', value: 'a', effect: 'NoSchedule' }] }),
    node('worker-2', { labels: role('worker'), ready: false }),
    node('worker-3', { labels: role('worker') }),
    node('other', {}),
  ];
  const pools = [
    pool('gpu', 200),
    pool('worker', 200, { spec: { labels: { tier: 'gold' } } }),
    pool('spare', 409, {
      metadata: { name: 'spare', uid: 'uid-spare', creationTimestamp: '2026-11-21T11:55:00Z', generation: 1 },
      status: conflict,
    }),
  ];
  const event = (more: Partial<PoolEventRecord>): PoolEventRecord => ({
    pool: 'gpu',
    poolUid: 'uid-gpu',
    type: 'Normal',
    reason: 'NodeJoined',
    note: '2 nodes joined: gpu-1, gpu-2',
    firstSeen: '2026-11-21T11:50:00Z',
    lastSeen: '2026-11-21T11:50:00Z',
    count: 1,
    reporter: 'nodepool-controller',
    ...more,
  });
  const spare = { pool: 'spare', poolUid: 'uid-spare', type: 'Warning', reason: 'NodeConflict', count: 3 };
  return {
    clusterState: new ClusterState(pools, nodes, []),
    events: [
      ['default/one', event({})],
      ['default/two', event({ ...spare, note: 'node gpu-1 belongs to pool gpu', lastSeen: '2026-11-21T11:59:30Z' })],
      ['default/old', event({ poolUid: 'another', note: 'of an earlier pool of this name' })],
    ],
    outages: [],
  };
}

/** The dashboard without a terminal: keys in, lines out. */
export class Desk {
  readonly fixture: Fixture;
  size: ScreenSize;
  state: ViewState = initialState;
  style = PLAIN;
  usage: LiveUsage = { kind: 'reading' };
  readonly effects: unknown[] = [];

  constructor(of: Fixture = fixture(), size: ScreenSize = { columns: 80, rows: 24 }) {
    this.fixture = of;
    this.size = size;
  }

  type(...keys: Key[]): this {
    for (const key of keys) {
      this.clampSelection();
      const { state, effect } = press(this.state, key, this.#screen());
      this.state = state;
      if (effect !== undefined) this.effects.push(effect);
    }
    return this;
  }

  paste(text: string): this {
    this.state = paste(this.state, text);
    return this;
  }

  lines(): string[] {
    this.clampSelection();
    const { names } = this.#screen();
    const usage = this.state.usage ? this.usage : undefined;
    const facts = { clusterName: 'demo', live: this.#live(), usage, names, now: NOW, style: this.style };
    return screenLines(this.state, this.#contents(), this.size, facts);
  }

  text(): string {
    return `${this.lines()
      .map(line => line.trimEnd())
      .join('\n')}\n`;
  }

  get selected(): string | undefined {
    this.clampSelection();
    return placeOf(this.state).selected;
  }

  clampSelection(): void {
    this.state = clampSelection(this.state, this.#screen());
  }

  #live() {
    const { clusterState, events, outages } = this.fixture;
    return { clusterState, events: () => events, outages: () => outages, serverTime: () => NOW };
  }

  #contents() {
    const usage = this.state.usage ? this.usage : undefined;
    const setting = { width: this.size.columns, now: NOW, style: this.style, usage };
    return contentsOf(placeOf(this.state), this.#live(), setting);
  }

  #screen(): ScreenData {
    return screenDataOf(this.#contents(), pageOf(this.state, this.size), this.fixture);
  }
}
