/**
 * `node --expose-gc scripts/bench/record-memory.ts NODES SLOTS` prints the resident memory of a ClusterState. Each node
 * has SLOTS labels and as many taints of its pool; keys, values and displaced values have maximum length, and no two
 * records are equal. SLOTS is at most 100, as in a pool (validation.ts).
 */
import { formatRecord, parseRecord } from '../../src/nodepool/plan/record.ts';
import { API_VERSION, type Node, type NodePool, type Taint } from '../../src/nodepool/types.ts';
import { nodePlan } from '../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../src/reconciler/state/cluster-state.ts';

const [count = 5_000, slots = 100] = process.argv.slice(2).map(Number);
const DOMAIN = `${['a', 'b', 'c'].map(letter => letter.repeat(63)).join('.')}.${'d'.repeat(61)}`;
const keyOf = (i: number) => `${DOMAIN}/${'k'.repeat(59)}${1000 + i}`;
const longest = (text: string) => text.padEnd(63, 'v');
/** Like text from a socket, it shares no memory with other strings. */
const copied = (text: string) => Buffer.from(text).toString();
const range = Array.from({ length: slots }, (_, i) => i);
const id = (i: number) => `${keyOf(i)}:NoSchedule`;
const taint = (i: number): Taint => ({ key: keyOf(i), value: longest('p'), effect: 'NoSchedule' });
const all = (key: (i: number) => string, value: (i: number) => string) =>
  Object.fromEntries(range.map(i => [key(i), longest(value(i))]));

const pool: NodePool = {
  apiVersion: API_VERSION,
  kind: 'NodePool',
  metadata: { name: 'p', uid: 'p', generation: 1 },
  spec: { nodeSelector: { pool: 'p' }, labels: all(keyOf, () => 'p'), taints: range.map(taint) },
};

function nodeOf(n: number): Node {
  const name = `node-${n}`;
  const had = (i: number) => `${n}-${i}-`;
  const record = parseRecord(
    JSON.stringify({
      pool: 'p',
      labels: pool.spec.labels,
      taints: all(id, () => 'p'),
      displaced: { labels: all(keyOf, had), taints: all(id, had) },
    }),
  );
  if (record === undefined) throw new Error('not a record');
  return {
    name,
    uid: name,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: JSON.parse(JSON.stringify({ ...pool.spec.labels, pool: 'p' })),
    taints: JSON.parse(JSON.stringify(pool.spec.taints)),
    record: copied(formatRecord(record)),
    ready: true,
    unschedulable: false,
    allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
  };
}

const nodes = Array.from({ length: count }, (_, n) => nodeOf(n));
const view = new ClusterState([pool], nodes, []);
const due = nodes.filter(({ name }) => nodePlan(view, name)?.patch !== undefined).length;
globalThis.gc?.();
const megabytes = Math.round(process.memoryUsage.rss() / 1e6);
console.log(`${count} nodes, records of ${nodes[0]?.record?.length} characters, ${due} due: ${megabytes} MB`);
