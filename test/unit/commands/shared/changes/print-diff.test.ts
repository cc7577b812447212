import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PrintedDiff, renderDiff } from '../../../../../src/commands/shared/changes/print-diff.ts';
import type { Change } from '../../../../../src/nodepool/plan/plan.ts';
import { GKE } from '../../../../cloud-names.ts';
import { colored, makeNode, NOW, plain } from '../../../print/fixtures.ts';

const nothing: PrintedDiff = {
  nodes: [],
  later: [],
  rollouts: [],
  conflicts: [],
  blocked: [],
  runtimeClasses: [],
  invalid: [],
};

const diff: PrintedDiff = {
  nodes: [
    {
      node: makeNode('node-1'),
      previous: undefined,
      owner: 'worker',
      changes: [
        { kind: 'label', key: 'tier', action: 'add', to: 'batch', reason: 'spec' },
        { kind: 'label', key: 'team', action: 'change', from: 'a', to: 'b', reason: 'drift' },
        { kind: 'taint', key: 'dedicated', effect: 'NoExecute', action: 'add', to: '', reason: 'spec' },
        { kind: 'taint', key: 'gpu', effect: 'NoSchedule', action: 'change', from: '', to: 'yes', reason: 'drift' },
        { kind: 'label', key: 'cloud', action: 'remove', from: 'x', reason: 'unmanaged' },
      ],
    },
    {
      node: makeNode('node-2'),
      previous: 'worker',
      owner: undefined,
      changes: [
        { kind: 'label', key: 'zone', action: 'restore', from: 'p', to: 'q', reason: 'left the pool' },
        { kind: 'label', key: 'cloud', action: 'restore', to: 'y', reason: 'left the pool' },
        { kind: 'taint', key: 'np', effect: 'NoSchedule', action: 'remove', from: 'w', reason: 'left the pool' },
      ],
    },
    {
      node: makeNode('node-3'),
      previous: 'worker',
      owner: 'gpu',
      changes: [{ kind: 'label', key: 'tier', action: 'remove', from: 'batch', reason: 'left the pool' }],
    },
    {
      node: makeNode('node-4'),
      previous: 'gpu',
      owner: 'gpu',
      changes: [{ kind: 'label', key: 'a\x1b', action: 'add', to: '\u202e', reason: 'drift' }],
    },
  ],
  later: [],
  rollouts: [],
  conflicts: [{ node: 'node-9', pool: 'gpu', owner: 'worker', notApplied: ['tier'] }],
  blocked: [],
  runtimeClasses: [
    { name: 'node-pool-worker', kind: 'create' },
    { name: 'node-pool-gpu', kind: 'foreign' },
    { name: 'node-pool-a', kind: 'replace' },
    { name: 'node-pool-b', kind: 'patch' },
    { name: 'node-pool-c', kind: 'delete' },
  ],
  invalid: [{ pool: 'bad', errors: [{ field: 'spec.taints[0].key', message: 'must not be empty' }] }],
};

test('names nodes that cannot be written once for each reason, or each node', () => {
  const reason = {
    kind: 'oversized',
    pools: ['worker'],
    word: '',
    why: 'it does not fit',
    next: 'remove labels',
  } as const;
  const blocked = ['a', 'b'].map(node => ({ node, ...reason }));
  assert.equal(
    renderDiff({ ...nothing, blocked }, plain),
    '! 2 nodes (a, b) are not written: it does not fit; next: remove labels',
  );
  assert.match(
    renderDiff({ ...nothing, blocked }, plain, { byNode: true }),
    /^! node a is not written: it .*\n! node b /,
  );
});

test('limits the output of a pool that another CRD version allowed', () => {
  const invalid = [{ pool: 'bad', errors: [{ field: 'spec.handler', message: 'x'.repeat(1_000_000) }] }];
  assert.ok(renderDiff({ ...nothing, invalid }, plain).length < 2100);
});

test('prints each node, each change with its reason, and obstacles', () => {
  assert.equal(
    renderDiff(diff, plain),
    `
node node-1 (joins pool worker)
  + label tier=batch  (spec)
  ~ label team: a -> b  (drift)
  + taint dedicated:NoExecute  (spec)
  ~ taint gpu:NoSchedule: "" -> yes  (drift)
  - label cloud=x  (unmanaged)

node node-2 (leaves pool worker)
  ~ label zone: p -> q  (left the pool, restored)
  + label cloud=y  (left the pool, restored)
  - taint np=w:NoSchedule  (left the pool)

node node-3 (moves from pool worker to pool gpu)
  - label tier=batch  (left the pool)

node node-4 (pool gpu)
  + label a\\u001b=\\u202e  (drift)

+ RuntimeClass node-pool-worker
~ RuntimeClass node-pool-a: deleted and recreated: its handler or owner differs
~ RuntimeClass node-pool-b: node selector and tolerations updated
- RuntimeClass node-pool-c

! pool bad has an invalid spec and is not applied: spec.taints[0].key: must not be empty
! node node-9 belongs to pool worker but also matches pool gpu (conflict); not applied: tier
! RuntimeClass node-pool-gpu has another owner and is not changed

4 nodes would change: 3 set, 2 changed, 3 removed, 2 restored; 4 RuntimeClasses would change`.slice(1),
  );
});

test('names who set what differs, and when', () => {
  const setBy = (manager: string, time?: string) => ({ manager, operation: 'Update', ...(time && { time }) });
  const drift = { action: 'change', from: 'a', to: 'b', reason: 'drift' } as const;
  const changes: Change[] = [
    { ...drift, kind: 'label', key: 'tier', setBy: setBy('kubectl-label', '2026-11-21T08:57:00Z') },
    { ...drift, kind: 'taint', key: 't', effect: 'NoExecute', setBy: setBy('x\n', '2026-11-21T06:00:00Z') },
    { ...drift, kind: 'label', key: 'team', setBy: setBy('somebody') },
    { ...drift, reason: 'spec', kind: 'label', key: 'zone', setBy: setBy('kubectl-label') },
    { ...drift, reason: 'spec', kind: 'taint', key: 't', effect: 'NoSchedule', setBy: setBy('x') },
  ];
  const nodes = [{ node: makeNode('a'), previous: 'gpu', owner: 'gpu', changes }];
  const [, ...lines] = renderDiff({ ...nothing, nodes }, plain, { now: NOW }).split('\n');
  assert.deepEqual(lines.slice(0, 5), [
    '  ~ label tier: a -> b  (drift: set by kubectl-label 3m ago)',
    '  ~ taint t:NoExecute: a -> b  (drift: taints set by x\\n 3h ago)',
    '  ~ label team: a -> b  (drift: set by somebody)',
    '  ~ label zone: a -> b  (spec; value set by kubectl-label)',
    '  ~ taint t:NoSchedule: a -> b  (spec; taints set by x)',
  ]);
});

test('joins nodes with the same changes in one block, so that 500 fit on a screen', () => {
  const spec: Change = { kind: 'label', key: 'tier', action: 'add', to: 'gold', reason: 'spec' };
  const setBy = (manager: string, time: string) => ({ manager, operation: 'Update', time });
  const changed = (name: string, ...changes: Change[]) => ({
    ...{ node: makeNode(name), previous: 'web', owner: 'web', changes },
  });
  const drift: Change = { ...spec, key: 'team', action: 'change', from: 'mine', to: 'a', reason: 'drift' };
  const nodes = Array.from({ length: 500 }, (_, at) => {
    const name = `ip-10-0-${Math.floor(at / 250)}-${at % 250}.eu-central-1.compute.internal`;
    if (at === 7) return changed(name, spec, drift);
    return at < 9 ? changed(name, spec, { ...drift, from: 'x' }) : changed(name, spec);
  });
  const by = (at: number, setter: Change['setBy']) => {
    const [, second] = nodes[at]?.changes ?? [];
    if (second !== undefined && setter !== undefined) second.setBy = setter;
  };
  by(0, setBy('kubectl-label', '2026-11-21T08:50:00Z'));
  by(1, setBy('ansible', '2026-11-21T08:57:00Z'));
  const later = [changed('later-1', spec), changed('later-2', spec)].map(plan => ({ ...plan, pausedBy: 'web' }));
  const conflicts = ['a', 'b', 'c', 'd'].map(node => ({ node, pool: 'db', owner: 'web', notApplied: ['tier'] }));
  const text = renderDiff({ ...nothing, nodes, later, conflicts }, plain, { now: NOW });
  assert.equal(
    text,
    `
pool web: 8 nodes (ip-10-0-0-0…, ip-10-0-0-1…, ip-10-0-0-2… and 5 more)
  + label tier=gold  (spec)
  ~ label team: x -> a  (drift: set by ansible, kubectl-label 3m ago)

node ip-10-0-0-7.eu-central-1.compute.internal (pool web)
  + label tier=gold  (spec)
  ~ label team: mine -> a  (drift)

pool web: 491 nodes (ip-10-0-0-9…, ip-10-0-0-10…, ip-10-0-0-11… and 488 more)
  + label tier=gold  (spec)

pool web: 2 nodes, pool web is paused (later-1, later-2)
  + label tier=gold  (spec)

! pool web is paused: 2 nodes above are not written until \`kubectl nodepool rollout resume web\`
! 4 nodes (a, b, c and 1 more) belong to pool web but also match pool db (conflict); not applied: tier

500 nodes would change: 500 set, 9 changed; 2 nodes would change later`.slice(1),
  );
  const byNode = renderDiff({ ...nothing, nodes, conflicts }, plain, { byNode: true });
  assert.equal(byNode.match(/^node \S+ \(pool web\)$/gm)?.length, 500);
  assert.equal(byNode.match(/^! node \w belongs to pool web/gm)?.length, 4);
});

test('wraps the names of a block on a terminal, and breaks none', () => {
  const changes: Change[] = [{ kind: 'label', key: 'tier', action: 'add', to: 'api', reason: 'spec' }];
  const nodes = GKE.map(name => ({ node: makeNode(name), previous: undefined, owner: 'web', changes }));
  const [head = ''] = renderDiff({ ...nothing, nodes }, plain, { terminalWidth: 80 }).split('\n  + ');
  for (const line of head.split('\n')) assert.ok(line.length <= 80, line);
  assert.equal(head, `joins pool web: 18 nodes (${GKE[0]} and 17\n    more)`);
});

test('shortens names so that all names of the screen differ', () => {
  const { node: _node, ...rest } = diff.conflicts[0] ?? assert.fail();
  const zones = ['zone1', 'zone2'].map((zone, i) => {
    const changes: Change[] = [{ kind: 'label', key: 'tier', action: 'add', to: `${i}`, reason: 'spec' }];
    return ['a', 'b'].map(host => ({ node: makeNode(`${host}.${zone}.x`), previous: 'web', owner: 'web', changes }));
  });
  const conflicts = ['b.zone3.x', 'c.zone3.x'].map(node => ({ ...rest, node }));
  const text = renderDiff({ ...nothing, nodes: zones.flat(), conflicts }, plain);
  assert.deepEqual(text.match(/\(\w\S+, .*?\)/g), [
    '(a.zone1.x, b.zone1.x)',
    '(a.zone2.x, b.zone2.x)',
    '(b.zone3.x, c…)',
  ]);
});

test('prints nothing without changes', () => {
  assert.equal(renderDiff(nothing, plain), '');
});

test('prints conflicts without a summary when they are alone', () => {
  assert.equal(
    renderDiff({ ...nothing, conflicts: diff.conflicts }, plain),
    '! node node-9 belongs to pool worker but also matches pool gpu (conflict); not applied: tier',
  );
});

test('prints a single RuntimeClass', () => {
  assert.equal(
    renderDiff({ ...nothing, runtimeClasses: diff.runtimeClasses.slice(0, 1) }, plain),
    '+ RuntimeClass node-pool-worker\n\n1 RuntimeClass would change',
  );
});

test('colours additions green, removals red, changes yellow', () => {
  const signs = [...renderDiff(diff, colored).matchAll(/\x1b\[(3\d)m([-+~!])/g)].map(match => `${match[2]}${match[1]}`);
  assert.deepEqual([...new Set(signs)].toSorted(), ['!31', '+32', '-31', '~33']);
});
