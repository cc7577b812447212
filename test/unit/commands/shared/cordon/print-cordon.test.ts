/** The time that is left of a maintenance, in cells and sentences. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maintenanceCell, requestedText } from '../../../../../src/commands/shared/cordon/print-cordon.ts';
import { makeStyle } from '../../../../../src/print/style.ts';

const UNTIL = '2026-01-04T00:00:00Z';

const cases: [name: string, leftMs: number, left: string][] = [
  ['a second', 1_000, '1s'],
  ['less than 10 seconds', 9_100, '10s'],
  ['90 seconds', 90_000, '90s'],
  ['minutes and seconds', 299_500, '5m'],
  ['less than 10 minutes', 9.5 * 60_000, '9m30s'],
  ['10 minutes', 10 * 60_000, '10m'],
  ['more', 10.5 * 60_000, '11m'],
  ['one second less than 3 days', 3 * 86_400_000 - 1_000, '3d'],
];
for (const [name, leftMs, left] of cases) {
  test(`${name}: ${left}`, () => {
    const now = new Date(Date.parse(UNTIL) - leftMs);
    const owner = { name: 'alice', from: 'server' } as const;
    assert.equal(requestedText(owner, { until: UNTIL }, now), `Maintenance by alice until ${UNTIL} (${left} left)`);
    const maintenance = JSON.stringify({ owner: 'alice', since: '2026-01-01T00:00:00Z', until: UNTIL, uid: 'u' });
    const cell = maintenanceCell({ uid: 'u', unschedulable: true, maintenance }, now, 80, makeStyle(false));
    assert.equal(cell, `alice(${left}-left)`);
  });
}

test('leaves out the owner of a maintenance before its end and its reason', () => {
  const now = new Date(Date.parse(UNTIL) - 3 * 86_400_000);
  const cell = (width: number, more: object) => {
    const maintenance = JSON.stringify({ owner: 'platform-admin', since: '2026-01-01T00:00:00Z', uid: 'u', ...more });
    return maintenanceCell({ uid: 'u', unschedulable: true, maintenance }, now, width, makeStyle(false));
  };
  const whole = { until: UNTIL, reason: 'kernel upgrade' };
  assert.equal(cell(Infinity, whole), 'platform-admin(3d-left):kernel_upgrade');
  assert.equal(cell(30, whole), '3d-left:kernel_upgrade');
  assert.equal(cell(12, whole), '3d-left:ker…');
  assert.equal(cell(10, {}), 'platform-…');
});
