/** What a process remembers of nodes that lose their record, or boot. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LONG_REGISTERED } from '../../../../src/nodepool/plan/startup-taints.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { NodeBirths } from '../../../../src/reconciler/state/node-births.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';

const NOW = new Date('2026-01-01T01:00:00Z');
const POOL = aPool({ startupTaints: [taint('held=x:NoSchedule')] });
const startup = { 'held:NoSchedule': 'x', 'removed:NoSchedule': '', 'over:NoExecute': null };
const member = aNode({
  creationTimestamp: '2026-01-01T00:55:00Z',
  taints: [taint('held=x:NoSchedule')],
  record: recordOf({ pool: 'worker', startup }),
  boot: 'one',
});
const without = ({ record: _record, ...rest }: Node): Node => rest;
const former = (births: NodeBirths, node: Node) => Object.fromEntries(births.of(node, POOL).former);

test('remembers startup taints of a record that is gone or belongs to another pool', () => {
  const births = new NodeBirths(() => NOW);
  assert.deepEqual(births.of(member, aPool()), { ...LONG_REGISTERED, isYoung: true });
  assert.deepEqual(births.of({ ...member, creationTimestamp: '2020-01-01T00:00:00Z' }, aPool()), LONG_REGISTERED);
  births.changed(member, { ...member, taints: [] });
  assert.deepEqual(births.of(member, POOL), { isYoung: true, wasMember: false, isBooting: false, former: new Map() });
  births.changed(member, without(member));
  assert.equal(births.of(member, aPool()).wasMember, true);
  const all = { 'held:NoSchedule': 'x', 'removed:NoSchedule': null, 'over:NoExecute': null };
  assert.deepEqual(former(births, member), all);
  const other = { ...member, record: recordOf({ pool: 'other', startup: { 'held:NoSchedule': 'y' } }) };
  births.changed(other, { ...other, record: '{' });
  assert.deepEqual(former(births, member), { ...all, 'held:NoSchedule': null }, 'the last record counts');
  assert.deepEqual(former(births, { ...member, uid: 'another' }), {});
  births.gone(member.uid);
  assert.deepEqual(former(births, member), {});
});

test('remembers only the last of very many nodes', () => {
  const births = new NodeBirths(() => NOW);
  const nodes = Array.from({ length: 10_001 }, (_, at) => ({ ...member, uid: `uid-${at}` }));
  for (const node of nodes) births.changed(node, without(node));
  assert.deepEqual(
    [nodes[0], nodes[1], nodes.at(-1)].map(node => Object.keys(former(births, node ?? member)).length),
    [0, 3, 3],
  );
});

test('a node is booting when its boot id or Ready changed a short while ago', () => {
  let now = NOW;
  const births = new NodeBirths(() => now);
  const seconds = (ago: number) => NOW.getTime() / 1000 - ago;
  assert.equal(births.of({ ...member, readySince: seconds(599) }, POOL).isBooting, true);
  assert.equal(births.of({ ...member, readySince: seconds(601) }, POOL).isBooting, false);
  assert.equal(births.of({ ...member, readySince: seconds(-601) }, POOL).isBooting, true, 'our clock is behind');
  births.changed(without({ ...member, boot: 'two' }), { ...member, boot: 'two' });
  assert.equal(births.of(member, POOL).isBooting, false);
  births.changed(member, { ...member, boot: 'two' });
  assert.equal(births.of(member, POOL).isBooting, true);
  now = new Date(NOW.getTime() + 600_000);
  assert.equal(births.of(member, POOL).isBooting, false);
});
