import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DescribedNode } from '../../../../../src/commands/shared/describe/describe.ts';
import { renderDescription } from '../../../../../src/commands/shared/describe/print-describe.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../../src/nodepool/plan/plan.ts';
import type { RolloutStrategy, RuntimeClass } from '../../../../../src/nodepool/types.ts';
import { EKS } from '../../../../cloud-names.ts';
import { aRuntimeClass } from '../../../nodepool/fixtures.ts';
import { colored, freshPool, gpuPool, makeNode, NOW, plain, workerPool } from '../../../print/fixtures.ts';

const drift: Change = { kind: 'label', key: 'tier', action: 'change', from: 'x', to: 'batch', reason: 'drift' };

const runtimeClass = aRuntimeClass('worker', 'u1', {
  handler: 'gvisor',
  scheduling: {
    nodeSelector: { 'node-role.kubernetes.io/worker': '', 'node-pool': 'worker', tier: 'batch' },
    tolerations: [
      { key: 'node-pool', operator: 'Equal', value: 'worker', effect: 'NoSchedule' },
      { key: 'dedicated', operator: 'Equal', effect: 'NoExecute' },
    ],
  },
});

/** Of one node; the status of the pool has other sums. */
const ALLOCATABLE = {
  ...{ cpu: '12', memory: '3064520Ki', pods: '110', 'nvidia.com/gpu': '4' },
  ...{ 'ephemeral-storage': '184026512Ki', 'hugepages-1Gi': '0' },
};

const NONE = { runtimeClass: { value: undefined }, events: { value: [] } };

test('prints all sections', () => {
  const pool = workerPool();
  pool.metadata.annotations = {
    note: 'by\x1b[31mhand',
    long: 'x'.repeat(100),
    'kubectl.kubernetes.io/last-applied-configuration': '{}',
  };
  const nodes: DescribedNode[] = [
    { node: makeNode('node-1', { allocatable: ALLOCATABLE }), changes: [], membership: { kind: 'member' } },
    {
      node: makeNode('node-2', { ready: false, unschedulable: true }),
      changes: [drift],
      membership: { kind: 'member' },
    },
    { node: makeNode('node-3'), changes: [drift, drift], membership: { kind: 'leaving' } },
    { node: makeNode('node-4'), changes: [], membership: { kind: 'conflict', owner: 'gpu' } },
  ];
  const event = { pool: 'worker', reporter: 'nodepool-controller', type: 'Normal' };
  const events = [
    {
      ...event,
      reason: 'NodeJoined',
      note: '2 nodes joined: node-1, node-2',
      lastSeen: '2026-11-21T08:55:00Z',
      firstSeen: '2026-11-21T08:00:00Z',
      count: 3,
    },
    {
      ...event,
      type: 'Warning',
      reporter: '',
      reason: 'NodeConflict',
      note: 'node node-4\n',
      lastSeen: '2026-11-21T08:59:00Z',
      firstSeen: '2026-11-21T08:59:00Z',
      count: 1,
    },
  ];
  const want = `
Name:         worker
Labels:       team=a
Annotations:  note: by\\u001b[31mhand
              long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
Created:      2026-11-19T06:00:00Z (2d3h ago)
Status:       Ready (code 200)
Spec:
  Labels:         node-pool=worker
                  tier=batch
  Taints:         node-pool=worker:NoSchedule
                  dedicated:NoExecute
  Handler:        gvisor
  Node Selector:  node-role.kubernetes.io/worker= (default)
  Unmanaged:      Keep
Allocatable:
  Resource           Total
  --------           -----
  cpu                16
  ephemeral-storage  184026512Ki  (175.5Gi)
  hugepages-1Gi      0
  memory             6129040Ki    (5.8Gi)
  nvidia.com/gpu     4
  pods               220
Nodes:  2, 1 ready, 1 unschedulable, 1 with changes due, 1 to be cleaned, 1 owned by another pool
  Name    Status                       CPU  Memory  Pods  State          Age
  ----    ------                       ---  ------  ----  -----          ---
  node-1  Ready                        12   2.9Gi   110   in sync        20d
  node-2  NotReady,SchedulingDisabled  4    2.9Gi   110   1 change due   20d
  node-3  Ready                        4    2.9Gi   110   to be cleaned  20d
  node-4  Ready                        4    2.9Gi   110   owned by gpu   20d
RuntimeClass:
  Name:           node-pool-worker
  Handler:        gvisor
  State:          in sync
  Node Selector:  node-pool=worker
                  node-role.kubernetes.io/worker=
                  tier=batch
  Tolerations:    node-pool=worker:NoSchedule
                  dedicated:NoExecute
Conditions:
  Type      Status  Reason      Age  Message
  ----      ------  ------      ---  -------
  Ready     True    PoolReady   5m   from the last reconcile: 2 of 2 nodes are Ready
  Applied   True    Applied     5m   from the last reconcile: every member has the labels and taints of the pool
  Conflict  False   NoConflict  5m
Events:
  Type     Reason        Age               From                 Message
  ----     ------        ---               ----                 -------
  Normal   NodeJoined    5m (x3 over 60m)  nodepool-controller  2 nodes joined: node-1, node-2
  Warning  NodeConflict  60s               <none>               node node-4`;
  assert.equal(
    renderDescription({ pool, nodes, runtimeClass: { value: runtimeClass }, events: { value: events } }, NOW, plain),
    want.slice(1),
  );
  const same = renderDescription({ pool, nodes: nodes.slice(0, 1), ...NONE }, NOW, plain);
  assert.match(same, /Applied +5m +every member/);
});

test('names what the user may not read', () => {
  const forbidden = new NodepoolError('cluster', 'user "a\n" may not list x', 'ask for a role');
  const text = renderDescription(
    { pool: workerPool(), nodes: [], runtimeClass: { forbidden }, events: { forbidden } },
    NOW,
    plain,
  );
  const line = '<forbidden: user "a\\n" may not list x; ask for a role>';
  assert.deepEqual(text.match(/^(RuntimeClass|Events): .*$/gm), [`RuntimeClass:  ${line}`, `Events:  ${line}`]);
});

test('notes that the status is of an older generation', () => {
  const pool = workerPool();
  pool.metadata.generation = 8;
  pool.status = { status: 200, nodeCount: 2, observedGeneration: 7 };
  const text = renderDescription({ pool, nodes: [], ...NONE }, NOW, plain);
  assert.match(text, /^Status: +Pending \(code 200; the spec changed after the last reconcile\)$/m);
});

test('prints a pool without status', () => {
  const pool = freshPool();
  pool.metadata.deletionTimestamp = '2026-11-21T08:59:59Z';
  assert.equal(
    renderDescription({ pool, nodes: [], ...NONE }, NOW, plain),
    `
Name:         fresh
Labels:       <none>
Annotations:  <none>
Created:      2026-11-21T08:59:57Z (3s ago)
Deleting:     since 2026-11-21T08:59:59Z (1s ago)
Status:       Deleting (not reconciled yet)
Spec:
  Labels:         <none>
  Taints:         <none>
  Handler:        <none>
  Node Selector:  node-role.kubernetes.io/fresh= (default)
  Unmanaged:      Keep
Allocatable:  <none>
Nodes:  0, 0 ready
RuntimeClass:  <none>
Conditions:  <none>
Events:  <none>`.slice(1),
  );
});

test('prints startup taints with their conditions', () => {
  const pool = freshPool();
  const agent = { key: 'agent', value: 'x', effect: 'NoSchedule' as const, until: { nodeCondition: 'AgentReady' } };
  pool.spec.startupTaints = [
    { ...agent, again: 'Boot' },
    { key: 'setup', effect: 'NoExecute' },
  ];
  const shown = renderDescription({ pool, nodes: [], ...NONE }, NOW, plain);
  assert.match(
    shown,
    /^ {2}Startup Taints: +agent=x:NoSchedule until AgentReady, again after a boot\n {19}setup:NoExecute$/m,
  );
});

test('prints the defaults of a rollout', () => {
  const shown = (rollout: RolloutStrategy) => {
    const pool = freshPool();
    pool.spec.rollout = rollout;
    return renderDescription({ pool, nodes: [], ...NONE }, NOW, plain);
  };
  assert.match(shown({}), /^ {2}Rollout: +settleSeconds=60 \(default\)\n +stopOnNotReady=true \(default\)$/m);
  const set = { maxConcurrent: '10%', settleSeconds: 60, stopOnNotReady: false };
  assert.match(shown(set), /^ {2}Rollout: +maxConcurrent=10%\n +settleSeconds=60\n +stopOnNotReady=false$/m);
});

test('lists nodes with problems first, and counts the others', () => {
  const nodes = Array.from(
    { length: 5000 },
    (_, i): DescribedNode => ({
      node: makeNode(`node-${i}`, { ready: i !== 4000 }),
      changes: i === 4001 ? [drift] : [],
      membership: i === 4002 ? { kind: 'conflict', owner: 'worker' } : { kind: i === 4003 ? 'leaving' : 'member' },
    }),
  );
  const text = renderDescription({ pool: gpuPool(), nodes, ...NONE }, NOW, plain);
  const names = [...text.matchAll(/^ {2}(node-\d+)/gm)].map(match => match[1]);
  assert.deepEqual(names.slice(0, 6), ['node-4002', 'node-4003', 'node-4001', 'node-4000', 'node-0', 'node-1']);
  assert.equal(names.length, 50);
  assert.match(text, /^Nodes: {2}4998, 4997 ready, 1 with changes due, 1 to be cleaned, 1 owned by another pool$/m);
  assert.match(text, /^ {2}… and 4950 more; list them all with: kubectl get nodes -l example.com\/gpu=a100$/m);
});

test('prints what a reconcile does with the RuntimeClass', () => {
  const state = (change: (pool: ReturnType<typeof workerPool>) => void, current: RuntimeClass | undefined) => {
    const pool = workerPool();
    change(pool);
    const text = renderDescription({ pool, nodes: [], ...NONE, runtimeClass: { value: current } }, NOW, plain);
    return /^RuntimeClass: +(.+)$|^ {2}State: +(.+)$/m.exec(text)?.slice(1).find(Boolean);
  };
  const foreign = { ...runtimeClass, metadata: { name: 'node-pool-worker' } };
  const unset = (pool: ReturnType<typeof workerPool>) => delete pool.spec.handler;
  assert.equal(
    state(() => {}, undefined),
    '<none> (the next reconcile creates it)',
  );
  assert.equal(
    state(() => {}, foreign),
    'owned by another object; not changed',
  );
  assert.equal(
    state(pool => {
      pool.spec.handler = 'kata';
    }, runtimeClass),
    'to be deleted and recreated',
  );
  assert.equal(
    state(pool => {
      pool.spec.labels = {};
    }, runtimeClass),
    'to be updated',
  );
  assert.equal(state(unset, runtimeClass), 'to be deleted');
  assert.equal(state(unset, foreign), '<none>');
  assert.equal(state(unset, undefined), '<none>');
});

test('cuts resource names and values of others, and does not sum unreadable values', () => {
  const node = makeNode('node-1', { allocatable: { ['r'.repeat(9_000)]: '1', cpu: 'q'.repeat(9_000) } });
  const nodes: DescribedNode[] = [{ node, changes: [], membership: { kind: 'member' } }];
  const text = renderDescription({ pool: workerPool(), nodes, ...NONE }, NOW, plain);
  assert.match(text, /\br{127}… +1$/m);
  assert.match(text, /^ {2}cpu +0$/m);
  assert.match(text, /^ {2}node-1 +Ready +q{127}…/m);
});

test('colours the status of a node as other tables do', () => {
  const statuses = [{}, { unschedulable: true }, { ready: false, unschedulable: true }];
  const nodes = statuses.map((facts, i): DescribedNode => {
    return { node: makeNode(`node-${i}`, facts), changes: [], membership: { kind: 'member' } };
  });
  const text = renderDescription({ pool: workerPool(), nodes, ...NONE }, NOW, colored);
  const { green, yellow, red } = colored;
  for (const cell of [green('Ready'), yellow('Ready,SchedulingDisabled'), red('NotReady,SchedulingDisabled')])
    assert.ok(text.includes(cell), text);
});

test('breaks no word or node name on a terminal of 80 columns', () => {
  const pool = workerPool();
  const [name = ''] = EKS;
  const message = `30 of 40 nodes updated; 1 settling (${name}), and the next step waits for it to become Ready`;
  const [condition] = pool.status?.conditions ?? [];
  assert.ok(condition && pool.status);
  pool.status.conditions = [{ ...condition, message }];
  const seen = { lastSeen: '2026-11-21T08:55:00Z', firstSeen: '2026-11-21T08:55:00Z', count: 1 };
  const joined = { pool: 'worker', reporter: 'r', type: 'Normal', reason: 'NodeJoined', ...seen };
  const events = { value: [{ ...joined, note: `18 nodes joined: ${EKS.join(', ')}` }] };
  const lines = renderDescription(
    { pool, nodes: [], runtimeClass: { value: undefined }, events },
    NOW,
    plain,
    80,
  ).split('\n');
  const shown = lines.slice(lines.indexOf('Conditions:'));
  assert.deepEqual(
    shown.filter(line => line.length > 80),
    [],
  );
  assert.match(shown[1] ?? '', /^ {2}Type +Status +Reason +Age +Message$/);
  assert.ok(shown.join(' ').replaceAll(/ +/g, ' ').includes(message), shown.join('\n'));
  for (const node of EKS)
    assert.ok(
      shown.some(line => line.includes(node)),
      node,
    );
});
