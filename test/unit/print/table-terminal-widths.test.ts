/** Tables fit terminals of 80 and 60 columns with the long names that clouds give to nodes and pools. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderCandidates } from '../../../src/commands/adopt/print.ts';
import { poolsPrinter } from '../../../src/commands/get/print.ts';
import { nodesPrinter } from '../../../src/commands/nodes/print.ts';
import { eventEntry, timelinePrinter } from '../../../src/commands/shared/describe/print-timeline.ts';
import type { PoolNode } from '../../../src/commands/shared/pools/nodes.ts';
import type { PoolCandidate } from '../../../src/nodepool/adopt/adopt.ts';
import { EKS, GKE as GKE_NODES } from '../../cloud-names.ts';
import { gpuPool, makeNode, NOW, plain, workerPool } from './fixtures.ts';

const POOLS = ['team-payments-batch-spot-large-a', 'team-payments-batch-spot-large-b'];
const NODES = ['ip-10-0-123-45.eu-central-1.compute.internal', 'ip-10-0-123-46.eu-central-1.compute.internal'];
/** Alike up to the end. */
const GKE = ['gke-production-europe-default-pool-8f3a1c2d-k4tz', 'gke-production-europe-default-pool-8f3a1c2d-x9bq'];
const taint = { key: 'dedicated', value: 'payments', effect: 'NoSchedule' as const };
const setBy = { manager: 'kubectl-label', operation: 'Update', time: '2026-11-21T08:57:00Z' };

function pools(names = POOLS) {
  return [workerPool(), gpuPool()].map((pool, i) => ({
    ...pool,
    metadata: { ...pool.metadata, name: names[i] ?? '' },
  }));
}

function nodes(names: string[], poolNames: string[], isDrifted: boolean): PoolNode[] {
  return names.map((name, i) => ({
    node: makeNode(name, { taints: [taint], unschedulable: isDrifted && i === 0 }),
    pool: poolNames[i] ?? '',
    applied: { labels: { tier: 'gold', team: 'payments' }, taints: [taint], annotations: {} },
    changes: isDrifted
      ? [
          {
            kind: 'label',
            key: 'payments.example.com/tier',
            action: 'change',
            from: 'x',
            to: 'gold',
            reason: 'drift',
            setBy,
          },
        ]
      : [],
    conflicting: [],
    leaving: false,
  }));
}

function candidates(): PoolCandidate[] {
  return POOLS.map((name, i) => ({
    provider: 'EKS',
    label: 'eks.amazonaws.com/nodegroup',
    rank: 1,
    value: name,
    nodes: NODES.map(node => makeNode(node)),
    pool: {
      apiVersion: 'v1',
      kind: 'NodePool',
      metadata: { name },
      spec: { labels: { tier: 'gold' }, taints: [taint] },
    },
    state: i === 0 ? { kind: 'new' as const } : { kind: 'overlap' as const, exist: true, pools: POOLS },
  }));
}

function eventsText(terminalWidth: number, list: ReturnType<typeof events>): string {
  const render = timelinePrinter('Events', { wide: false, headers: true, terminalWidth }, plain);
  return render(
    list.map(event => eventEntry(event, { pool: event.pool })),
    NOW,
  );
}

function events(pool: string) {
  return ['Normal', 'Warning'].map((type, i) => ({
    pool,
    type,
    reason: 'NodesReconciled',
    note: `2 nodes joined: ${NODES.join(', ')}; see \`kubectl nodepool describe ${pool}\``,
    lastSeen: '2026-11-21T08:55:00Z',
    firstSeen: '2026-11-21T07:00:00Z',
    count: i === 0 ? 3 : 1,
    reporter: 'nodepool-controller',
  }));
}

const nodesTable = (terminalWidth: number, of: PoolNode[], labelColumns: string[] = []) =>
  nodesPrinter({ wide: false, headers: true, terminalWidth, labelColumns }, plain)(of, NOW);
const poolsTable = (terminalWidth: number, names?: string[]) =>
  poolsPrinter({ wide: false, headers: true, terminalWidth }, plain)(pools(names), NOW);

const TABLES: Record<string, (width: number) => string> = {
  get: width => poolsTable(width),
  'get, short names': width => poolsTable(width, ['a', 'b']),
  nodes: width => nodesTable(width, nodes(NODES, POOLS, false)),
  'nodes with drift': width => nodesTable(width, nodes(NODES, POOLS, true)),
  'nodes with drift, short names': width => nodesTable(width, nodes(['node-1', 'node-2'], ['a', 'b'], true)),
  'nodes with long equal prefixes': width => nodesTable(width, nodes(GKE, POOLS, true)),
  'nodes with a label': width => nodesTable(width, nodes(NODES, POOLS, false), ['topology.kubernetes.io/zone']),
  events: width => eventsText(width, events(POOLS[0] ?? '')),
  'events, short names': width => eventsText(width, events('a')),
  adopt: width => renderCandidates(candidates(), plain, width),
};

for (const [name, tableFor] of Object.entries(TABLES)) {
  test(`${name}: fits 80 and 60 columns`, () => {
    for (const width of [80, 60]) {
      const text = tableFor(width);
      const lines = text.split('\n');
      assert.deepEqual(
        lines.filter(line => line.length > width),
        [],
        `${width}:\n${text}`,
      );
    }
  });
}

test('cuts NAME last, and drops an empty DUE first', () => {
  assert.equal(
    poolsTable(60),
    `NAME                               STATUS     NODES …
team-payments-batch-spot-large-a   Ready      2
team-payments-batch-spot-large-b   Conflict   1`,
  );
  assert.equal(
    nodesTable(80, nodes(NODES, POOLS, false)),
    `NAME                                           STATUS   POOL …
ip-10-0-123-45.eu-central-1.compute.internal   Ready    team-payment…pot-large-a
ip-10-0-123-46.eu-central-1.compute.internal   Ready    team-payment…pot-large-b`,
  );
  assert.equal(
    nodesTable(60, nodes(NODES, POOLS, true)),
    `NAME              STATUS                     DUE …
ip-10-0-123-45…   Ready,SchedulingDisabled   ~payments.exam…
ip-10-0-123-46…   Ready                      ~payments.exam…`,
  );
  assert.equal(
    nodesTable(60, nodes(GKE, POOLS, false)),
    `NAME                                               STATUS …
gke-production-europe-default-pool-8f3a1c2d-k4tz   Ready
gke-production-europe-default-pool-8f3a1c2d-x9bq   Ready`,
  );
});

test('events: puts a message below its line if fewer than 60 characters fit', () => {
  assert.equal(
    eventsText(60, events(POOLS[0] ?? '').slice(0, 1)),
    `
TIME      WHAT             POOL             DETAIL …
5m (x3)   NodesReconcil…   team-pa…arge-a
  2 nodes joined:
    ip-10-0-123-45.eu-central-1.compute.internal,
    ip-10-0-123-46.eu-central-1.compute.internal; see
    \`kubectl nodepool describe \\
    team-payments-batch-spot-large-a\``.slice(1),
  );
});

test('events: puts a short message beside the columns', () => {
  const [event] = events('a');
  assert.ok(event);
  const short = eventsText(60, [{ ...event, note: 'short' }]);
  assert.match(short, / DETAIL( …)?\n5m .* a +short$/);
});

/** Eighteen drifted nodes, one of them cordoned. */
function cloudNodes(names: readonly string[]): PoolNode[] {
  return nodes(
    [...names],
    names.map((_, i) => POOLS[i % 2] ?? ''),
    true,
  );
}

for (const [cloud, names] of Object.entries({ EKS, GKE: GKE_NODES })) {
  test(`nodes: no line exceeds the terminal, with 18 different names of ${cloud}`, () => {
    for (let width = 60; width <= 240; width++) {
      for (const labels of [[], ['topology.kubernetes.io/zone', 'eks.amazonaws.com/capacityType']]) {
        const lines = nodesTable(width, cloudNodes(names), labels).split('\n');
        assert.deepEqual(
          lines.filter(line => line.length > width),
          [],
          `${width}`,
        );
        assert.equal(new Set(lines.map(line => line.split(' ')[0])).size, 19, `${width}`);
      }
    }
  });
}

test('nodes: drops columns without values before columns with values', () => {
  const fresh = cloudNodes(EKS).map(each => ({
    ...each,
    changes: [],
    applied: { labels: {}, taints: [], annotations: {} },
  }));
  const header = (width: number) => nodesTable(width, fresh).split('\n')[0];
  assert.match(header(200) ?? '', /^NAME +STATUS +POOL +TAINTS +APPLIED +DUE +AGE$/);
  assert.match(header(150) ?? '', /^NAME +STATUS +POOL +TAINTS +AGE …$/);
  assert.match(header(100) ?? '', /^NAME +STATUS +POOL …$/);
});
