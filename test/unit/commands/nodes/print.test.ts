import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesPrinter, printNodeNames, printNodes } from '../../../../src/commands/nodes/print.ts';
import type { PoolNode } from '../../../../src/commands/shared/pools/nodes.ts';
import { EKS } from '../../../cloud-names.ts';
import { colored, makeNode, NOW, plain } from '../../print/fixtures.ts';

const nothing = { applied: { labels: {}, taints: [], annotations: {} }, changes: [], conflicting: [], leaving: false };

const setBy = { manager: 'kubectl-label', operation: 'Update', time: '2026-11-21T08:57:00Z' };
const nodes: PoolNode[] = [
  {
    ...nothing,
    node: makeNode('node-a', {
      taints: [
        { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
        { key: 'maintenance', effect: 'NoExecute' },
      ],
    }),
    pool: 'gpu',
    applied: {
      labels: { tier: 'gold' },
      taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
      annotations: {},
    },
  },
  {
    ...nothing,
    node: makeNode('node-b', { unschedulable: true }),
    pool: 'gpu',
    changes: [
      { kind: 'label', key: 'tier', action: 'add', to: 'gold', reason: 'spec' },
      { kind: 'label', key: 'team', action: 'change', from: 'x', to: 'y', reason: 'drift', setBy },
      {
        kind: 'taint',
        key: 'old',
        effect: 'NoSchedule',
        action: 'remove',
        from: 'v',
        reason: 'unmanaged',
        setBy: { manager: 'a b', operation: 'Apply' },
      },
      { kind: 'taint', key: 'dedicated', effect: 'NoSchedule', action: 'add', to: 'gpu', reason: 'spec' },
    ],
    conflicting: ['late', 'later'],
  },
  {
    ...nothing,
    node: makeNode('node-c', { ready: false }),
    pool: 'gone',
    leaving: true,
    changes: [{ kind: 'label', key: 'tier', action: 'remove', from: 'gold', reason: 'left the pool' }],
  },
  { ...nothing, node: makeNode('evil\x1b[31m'), pool: undefined },
];

test('prints a table whose cells have no spaces', () => {
  assert.equal(
    nodesPrinter({ wide: false, headers: true }, plain)(nodes, NOW),
    `NAME             STATUS                     POOL           TAINTS                        APPLIED        DUE                     AGE   SET-BY
node-a           Ready                      gpu            dedicated=gpu:NoSchedule,+1   tier=gold,+1   <none>                  20d   <none>
node-b           Ready,SchedulingDisabled   gpu            <none>                        <none>         +tier=gold,~team=y,+2   20d   kubectl-label(3m),a_b
node-c           NotReady                   gone,Leaving   <none>                        <none>         -tier                   20d   <none>
evil\\u001b[31m   Ready                      <none>         <none>                        <none>         <none>                  20d   <none>`,
  );
});

test('fits a terminal: leaves out empty columns, cuts lists, then leaves out APPLIED and TAINTS', () => {
  const print = nodesPrinter({ wide: false, headers: true, terminalWidth: 80 }, plain);
  assert.equal(
    print(nodes.slice(1, 3), NOW),
    `NAME     STATUS                     POOL           DUE             SET-BY …
node-b   Ready,SchedulingDisabled   gpu            +tier=gold,+3   kubectl-labe…
node-c   NotReady                   gone,Leaving   -tier           <none>`,
  );
  const ready = nodesPrinter({ wide: false, headers: true, terminalWidth: 80 }, plain);
  assert.equal(
    ready(nodes.slice(0, 1), NOW),
    `NAME     STATUS   POOL   TAINTS                        APPLIED        AGE …
node-a   Ready    gpu    dedicated=gpu:NoSchedule,+1   tier=gold,+1   20d`,
  );
});

test('cuts names and drops the column of the named pool before MAINTENANCE', () => {
  const [first = '', second = ''] = EKS;
  const maintenance = JSON.stringify({ owner: 'team', uid: first, since: '2026-11-21T08:00:00Z', reason: 'kernel' });
  const shown = [
    { ...nothing, node: makeNode(first, { unschedulable: true, maintenance }), pool: 'frontend' },
    { ...nothing, node: makeNode(second), pool: 'frontend' },
  ];
  const print = (width: number | undefined, pool?: string) =>
    nodesPrinter({ wide: false, headers: true, terminalWidth: width, pool }, plain)(shown, NOW).split('\n');
  assert.match(print(80, 'frontend')[0] ?? '', /^NAME +STATUS +AGE +MAINTENANCE …$/);
  assert.match(print(80, 'frontend')[1] ?? '', /^ip-10-0-1-10… .* team/);
  assert.match(print(80)[0] ?? '', /^NAME +STATUS +POOL +AGE +MAINTENANCE …$/);
  assert.match(print(undefined, 'frontend')[0] ?? '', /^NAME +STATUS +POOL +TAINTS +APPLIED +DUE +AGE +MAINTENANCE$/);
});

test('shows the end and the reason of a maintenance on a terminal, and all of it in a pipe', () => {
  const [first = '', second = ''] = EKS;
  const reason = 'kernel upgrade';
  const more = { since: '2026-11-21T08:00:00Z', until: '2027-01-21T09:00:00Z', reason };
  const maintenance = JSON.stringify({ owner: 'nodepool-demo-admin', uid: first, ...more });
  const taints = [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' as const }];
  const shown = [
    { ...nothing, node: makeNode(first, { unschedulable: true, maintenance, taints }), pool: 'frontend' },
    { ...nothing, node: makeNode(second), pool: 'frontend' },
  ];
  const cell = (terminalWidth: number | undefined) =>
    nodesPrinter({ wide: false, headers: true, terminalWidth, pool: 'frontend' }, plain)(shown, NOW)
      .split('\n')[1]
      ?.split(/ +/)
      .at(-1);
  assert.equal(cell(undefined), 'nodepool-demo-admin(61d-left):kernel_upgrade');
  for (const columns of [80, 120, 200]) assert.equal(cell(columns), '61d-left:kernel_upgrade');
});

test('a watch on a terminal reserves space for a cordon', () => {
  const print = nodesPrinter({ wide: false, headers: true, terminalWidth: 80, isWatch: true }, plain);
  const [first] = nodes;
  assert.ok(first);
  const cordoned = { ...first, node: { ...first.node, unschedulable: true } };
  const lines = [...print([first], NOW).split('\n'), print([cordoned], NOW)];
  assert.match(lines[0] ?? '', /^NAME +STATUS +POOL +TAINTS +APPLIED +AGE …$/);
  for (const line of lines) assert.ok(line.length <= 80, line);
});

test('wide: prints everything unshortened, with resources and other matching pools', () => {
  const lines = nodesPrinter({ wide: true, headers: false }, plain)(nodes, NOW).split('\n');
  assert.deepEqual(lines[0]?.split(/ {2,}/), [
    'node-a',
    'Ready',
    'gpu',
    'dedicated=gpu:NoSchedule,maintenance:NoExecute',
    'tier=gold,dedicated=gpu:NoSchedule',
    '<none>',
    '20d',
    '4',
    '2.9Gi',
    '110',
    '<none>',
    '<none>',
    '<none>',
  ]);
  assert.match(
    lines[1] ?? '',
    / \+tier=gold,~team=y,-old:NoSchedule,\+dedicated=gpu:NoSchedule .* late,later +<none> +kubectl-label\(3m\),a_b$/,
  );
});

test('colours what needs attention: not ready, cordoned, drift, leaving', () => {
  const shown = nodesPrinter({ wide: false, headers: true }, colored)(nodes, NOW);
  assert.deepEqual(shown.match(/\x1b\[3[13]m[^\x1b]+/g), [
    '\x1b[33mReady,SchedulingDisabled',
    '\x1b[33m+tier=gold,~team=y,+2',
    '\x1b[31mNotReady',
    '\x1b[33mgone,Leaving',
    '\x1b[33m-tier',
  ]);
});

test('prints names, and everything as JSON and YAML', () => {
  assert.equal(printNodeNames(nodes.slice(0, 2)), 'node/node-a\nnode/node-b');
  const { items } = JSON.parse(printNodes(nodes, 'json', NOW)) as { items: Record<string, unknown>[] };
  assert.deepEqual(items[2], {
    name: 'node-c',
    metadata: { name: 'node-c', labels: {}, creationTimestamp: '2026-11-01T09:00:00Z' },
    pool: 'gone',
    leaving: true,
    ready: false,
    unschedulable: false,
    maintenance: null,
    creationTimestamp: '2026-11-01T09:00:00Z',
    taints: [],
    applied: { labels: {}, taints: [], annotations: {} },
    changes: nodes[2]?.changes,
    blocked: null,
    alsoMatchedBy: [],
    allocatable: { cpu: '4', memory: '3064520Ki', pods: '110' },
  });
  assert.deepEqual([items[3]?.pool, items[1]?.alsoMatchedBy], [null, ['late', 'later']]);
  assert.match(printNodes(nodes.slice(0, 1), 'yaml', NOW), /^apiVersion: .*\nitems:\n- allocatable:\n {4}cpu: "4"\n/);
  const none = { apiVersion: 'cli.nodes.lailin.xyz/v1alpha1', items: [], kind: 'PoolNodeList' };
  assert.deepEqual(JSON.parse(printNodes([], 'json', NOW)), none);
});
