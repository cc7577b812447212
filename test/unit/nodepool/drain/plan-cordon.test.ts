/** What a cordon or an uncordon writes, for each state of the node, user and flags. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatMaintenance,
  type Maintenance,
  type MaintenanceOwner,
} from '../../../../src/nodepool/drain/maintenance.ts';
import {
  type CordonChange,
  type CordonPlan,
  needsOwner,
  planCordon,
} from '../../../../src/nodepool/drain/plan-cordon.ts';

const NOW = new Date('2026-11-24T12:00:00.789Z');
const SINCE = '2026-11-24T12:00:00Z';
const ALICE: MaintenanceOwner = { name: 'alice', from: 'server' };
const BOB: MaintenanceOwner = { name: 'bob', from: 'server' };
const OF_BOB: Maintenance = { owner: BOB, since: '2026-01-01T00:00:00Z', reason: 'disks', uid: 'u' };

const open = { uid: 'u', unschedulable: false };
const closed = { uid: 'u', unschedulable: true };
const held = { ...closed, maintenance: formatMaintenance(OF_BOB) };
const was = { ...closed, maintenance: formatMaintenance({ ...OF_BOB, wasUnschedulable: true }) };
const stale = { ...open, maintenance: formatMaintenance(OF_BOB) };
const garbage = { ...closed, maintenance: '{' };

const requested = { reason: 'mine' };
const CORDON: CordonChange = { unschedulable: true };
const UNCORDON: CordonChange = { unschedulable: false };
const begun = (owner: MaintenanceOwner, more: Partial<Maintenance> = requested) =>
  formatMaintenance({ owner, since: SINCE, uid: 'u', ...more });

const cases: [
  what: string,
  node: typeof open & { maintenance?: string },
  change: CordonChange,
  owner: MaintenanceOwner,
  plan: CordonPlan,
][] = [
  [
    'cordons without maintenance',
    open,
    CORDON,
    ALICE,
    { kind: 'write', patch: { unschedulable: true }, change: undefined },
  ],
  [
    'cordons with a reason',
    open,
    { ...CORDON, maintenance: requested },
    ALICE,
    { kind: 'write', patch: { unschedulable: true, maintenance: begun(ALICE) }, change: { kind: 'begun' } },
  ],
  [
    'adds a reason to a cordoned node',
    closed,
    { ...CORDON, maintenance: requested },
    ALICE,
    {
      kind: 'write',
      patch: { maintenance: begun(ALICE, { ...requested, wasUnschedulable: true }) },
      change: { kind: 'begun' },
    },
  ],
  [
    'ends own maintenance, and keeps an earlier cordon',
    was,
    UNCORDON,
    BOB,
    { kind: 'write', patch: { maintenance: null }, change: undefined, staysCordoned: true },
  ],
  [
    'ends foreign maintenance with takeover, and keeps an earlier cordon',
    was,
    { ...UNCORDON, takeover: true },
    ALICE,
    { kind: 'write', patch: { maintenance: null }, change: { kind: 'ended', from: BOB }, staysCordoned: true },
  ],
  [
    'a takeover remembers that the node was cordoned before',
    was,
    { ...CORDON, takeover: true },
    ALICE,
    {
      kind: 'write',
      patch: { maintenance: begun(ALICE, { reason: 'disks', wasUnschedulable: true }) },
      change: { kind: 'taken over', from: BOB },
    },
  ],
  [
    'the next run of the owner remembers an earlier cordon',
    was,
    { ...CORDON, maintenance: requested },
    BOB,
    {
      kind: 'write',
      patch: { maintenance: begun(BOB, { ...requested, since: OF_BOB.since, wasUnschedulable: true }) },
      change: { kind: 'updated' },
    },
  ],
  [
    'ignores the earlier cordon in stale maintenance',
    { ...was, uid: 'another' },
    UNCORDON,
    ALICE,
    { kind: 'write', patch: { unschedulable: false, maintenance: null }, change: { kind: 'removed', from: BOB } },
  ],
  ['a cordoned node is already cordoned', closed, CORDON, ALICE, { kind: 'already' }],
  ['a schedulable node is already uncordoned', open, UNCORDON, ALICE, { kind: 'already' }],
  ['refuses a cordon under foreign maintenance', held, CORDON, ALICE, { kind: 'refused', holder: OF_BOB }],
  ['refuses an uncordon under foreign maintenance', held, UNCORDON, ALICE, { kind: 'refused', holder: OF_BOB }],
  [
    'refuses a cordon with a reason under foreign maintenance',
    held,
    { ...CORDON, maintenance: requested },
    ALICE,
    { kind: 'refused', holder: OF_BOB },
  ],
  [
    'refuses the same name if it is from a kubeconfig',
    held,
    CORDON,
    { ...BOB, from: 'kubeconfig' },
    { kind: 'refused', holder: OF_BOB },
  ],
  [
    'a takeover keeps the reason',
    held,
    { ...CORDON, takeover: true },
    ALICE,
    {
      kind: 'write',
      patch: { maintenance: begun(ALICE, { reason: 'disks' }) },
      change: { kind: 'taken over', from: BOB },
    },
  ],
  [
    'a takeover without maintenance only cordons',
    open,
    { ...CORDON, takeover: true },
    ALICE,
    { kind: 'write', patch: { unschedulable: true }, change: undefined },
  ],
  [
    'an uncordon with takeover ends foreign maintenance',
    held,
    { ...UNCORDON, takeover: true },
    ALICE,
    { kind: 'write', patch: { unschedulable: false, maintenance: null }, change: { kind: 'ended', from: BOB } },
  ],
  ['a second cordon by the owner changes nothing', held, CORDON, BOB, { kind: 'already' }],
  [
    'the owner changes the reason',
    held,
    { ...CORDON, maintenance: requested },
    BOB,
    {
      kind: 'write',
      patch: { maintenance: begun(BOB, { ...requested, since: OF_BOB.since }) },
      change: { kind: 'updated' },
    },
  ],
  [
    'the owner ends the maintenance',
    held,
    UNCORDON,
    BOB,
    { kind: 'write', patch: { unschedulable: false, maintenance: null }, change: undefined },
  ],
  [
    'a cordon removes stale maintenance',
    stale,
    CORDON,
    ALICE,
    { kind: 'write', patch: { unschedulable: true, maintenance: null }, change: { kind: 'removed', from: BOB } },
  ],
  [
    'a cordon with a reason replaces stale maintenance',
    stale,
    { ...CORDON, maintenance: requested },
    ALICE,
    { kind: 'write', patch: { unschedulable: true, maintenance: begun(ALICE) }, change: { kind: 'begun' } },
  ],
  [
    'an uncordon removes stale maintenance',
    stale,
    UNCORDON,
    ALICE,
    { kind: 'write', patch: { maintenance: null }, change: { kind: 'removed', from: BOB } },
  ],
  [
    'maintenance of an earlier node is stale',
    { ...held, uid: 'v' },
    UNCORDON,
    ALICE,
    { kind: 'write', patch: { unschedulable: false, maintenance: null }, change: { kind: 'removed', from: BOB } },
  ],
  ['a cordon keeps a malformed annotation', garbage, CORDON, ALICE, { kind: 'already' }],
  [
    'an uncordon removes a malformed annotation',
    garbage,
    UNCORDON,
    ALICE,
    { kind: 'write', patch: { unschedulable: false, maintenance: null }, change: { kind: 'removed', from: undefined } },
  ],
];
for (const [what, node, change, owner, plan] of cases)
  test(what, () => assert.deepEqual(planCordon(node, change, owner, NOW), plan));

test('needsOwner() is true only where the owner decides the outcome', () => {
  assert.deepEqual(
    [open, closed, stale, garbage].map(node => needsOwner(node, CORDON)),
    [false, false, false, false],
  );
  assert.deepEqual([needsOwner(held, UNCORDON), needsOwner(open, { ...CORDON, maintenance: {} })], [true, true]);
});

test('does not rewrite an annotation that has another format for the same owner', () => {
  const spaced = { ...held, maintenance: JSON.stringify({ later: 1, ...JSON.parse(held.maintenance) }, null, 2) };
  assert.deepEqual(planCordon(spaced, CORDON, BOB, NOW), { kind: 'already' });
});
