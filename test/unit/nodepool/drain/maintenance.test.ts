/** The annotation of a maintenance: values of others are read, and count only while the node is cordoned. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countMaintenance,
  formatMaintenance,
  isOverdue,
  isReason,
  MAX_MAINTENANCE_LENGTH,
  MAX_OWNER_LENGTH,
  MAX_REASON_LENGTH,
  type Maintenance,
  maintenanceIn,
  maintenanceOf,
  maintenanceText,
  parseMaintenance,
} from '../../../../src/nodepool/drain/maintenance.ts';

const NOW = new Date('2026-11-24T12:00:00Z');
const FULL: Maintenance = {
  owner: { name: 'alice', from: 'server' },
  since: '2026-11-24T10:00:00Z',
  reason: 'disks',
  until: '2026-11-24T11:00:00Z',
  uid: 'u',
};
const JSON_OF = { owner: 'alice', since: '2026-11-24T10:00:00Z', uid: 'u' };

test('reads maintenance annotations as they were written, up to the maximum length', () => {
  const longest: Maintenance = {
    ...FULL,
    owner: { name: '\u0001'.repeat(MAX_OWNER_LENGTH), from: 'kubeconfig' },
    reason: '👍'.repeat(MAX_REASON_LENGTH),
  };
  const { until: _, reason: __, ...open } = FULL;
  for (const each of [FULL, open, longest]) {
    const text = formatMaintenance(each);
    assert.ok(text.length <= MAX_MAINTENANCE_LENGTH);
    assert.deepEqual(parseMaintenance(text), each);
  }
  assert.equal(
    formatMaintenance(FULL),
    '{"owner":"alice","reason":"disks","since":"2026-11-24T10:00:00Z","until":"2026-11-24T11:00:00Z","uid":"u"}',
  );
});

test('rejects annotations in a foreign format, but accepts unknown fields of later versions', () => {
  const wrong: object[] = [
    { owner: '' },
    { owner: 7 },
    { owner: 'x'.repeat(MAX_OWNER_LENGTH + 1) },
    { ownerFrom: 'me' },
    { since: 'now' },
    { since: '2026-13-24T10:00:00Z' },
    { since: '2026-11-24' },
    { uid: undefined },
    { reason: '' },
    { reason: 'x'.repeat(MAX_REASON_LENGTH + 1) },
    { until: null },
    { until: 'x'.repeat(1000) },
  ];
  for (const each of wrong) assert.equal(parseMaintenance(JSON.stringify({ ...JSON_OF, ...each })), undefined);
  for (const text of ['', '{', 'null', '[]', '7']) assert.equal(parseMaintenance(text), undefined);
  assert.ok(parseMaintenance(JSON.stringify({ ...JSON_OF, later: [1] })));
});

test('cuts an annotation that is longer than the limit', () => {
  const key = 'nodes.lailin.xyz/maintenance';
  assert.deepEqual(maintenanceIn({}), {});
  assert.deepEqual(maintenanceIn({ [key]: '' }), { maintenance: '' });
  assert.equal(maintenanceIn({ [key]: 'x'.repeat(250_000) }).maintenance?.length, MAX_MAINTENANCE_LENGTH);
});

test('maintenance holds while the node stays cordoned and is not recreated', () => {
  const maintenance = formatMaintenance(FULL);
  const kind = (unschedulable: boolean, uid = 'u') => {
    const state = maintenanceOf({ maintenance, unschedulable, uid });
    return state?.kind === 'stale' ? state.why : state?.kind;
  };
  assert.deepEqual([kind(true), kind(false), kind(true, 'v')], ['active', 'schedulable', 'recreated']);
  assert.equal(maintenanceOf({ unschedulable: true, uid: 'u' }), undefined);
});

test('maintenance is overdue once its end has passed; maintenance without an end never is', () => {
  assert.equal(isOverdue({ until: '2026-11-24T12:00:00Z' }, NOW), true);
  assert.equal(isOverdue({ until: '2026-11-24T13:00:01+01:00' }, NOW), false);
  assert.equal(isOverdue({}, NOW), false);
  const node = { maintenance: formatMaintenance(FULL), unschedulable: true, uid: 'u' };
  const { until: _, ...open } = FULL;
  const nodes = [node, { ...node, maintenance: formatMaintenance(open) }, { ...node, unschedulable: false }];
  assert.deepEqual(countMaintenance(nodes, NOW), { active: 2, overdue: 1 });
  assert.equal(
    maintenanceText({ ...FULL, owner: { name: 'me', from: 'kubeconfig' } }, NOW),
    'me (by a kubeconfig) since 2026-11-24T10:00:00Z, until 2026-11-24T11:00:00Z (overdue): disks',
  );
});

test('isReason() accepts one line of at most 256 characters', () => {
  for (const text of ['x', 'new disks, 日本 👍']) assert.equal(isReason(text), true);
  for (const text of ['', '  ', 'a\nb', 'a\tb', '\u2028', '\u0085', 'x'.repeat(257)])
    assert.equal(isReason(text), false);
});
