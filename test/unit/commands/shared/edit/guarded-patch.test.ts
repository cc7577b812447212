import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alteredPool } from '../../../../../src/commands/shared/edit/guarded-patch.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

const spot = { key: 'spot', operator: 'DoesNotExist' };
const size = { key: 'size', operator: 'Gt', values: ['4'] };
const sent = aPool({ matchExpressions: [spot, size] });

test('names an expression that the server changed, added or removed', () => {
  assert.equal(alteredPool(sent, sent), undefined);
  const changed = alteredPool(sent, aPool({ matchExpressions: [spot, { ...size, values: ['2'] }] }));
  assert.match(
    changed?.message ?? '',
    /spec\.matchExpressions\[1\] was sent with value ".*\["4"\].*" and is ".*\["2"\]/,
  );
  const removed = alteredPool(sent, aPool({ matchExpressions: [spot] }));
  assert.match(removed?.message ?? '', /spec\.matchExpressions\[1\] was sent with value ".*" and removed/);
  const back = alteredPool(aPool(), aPool({ matchExpressions: [spot] }), aPool({ matchExpressions: [spot] }));
  assert.match(back?.message ?? '', /spec\.matchExpressions\[0\] was added/);
});

test('names a startup taint that the server changed, in any order of its fields', () => {
  const until = { nodeCondition: 'AgentReady' };
  const agent = { key: 'agent', value: 'x', effect: 'NoSchedule' as const, until };
  const startup = (...startupTaints: (typeof agent)[]) => aPool({ startupTaints });
  assert.equal(
    alteredPool(startup(agent), startup({ until, effect: 'NoSchedule', key: 'agent', value: 'x' })),
    undefined,
  );
  const other = alteredPool(startup(agent), startup({ ...agent, value: 'y', until: { nodeCondition: 'Ready' } }));
  assert.match(
    other?.message ?? '',
    /spec\.startupTaints\[agent:NoSchedule\] was sent with value "x" and is "y", spec\.startupTaints\[agent:NoSchedule\]\.until was sent with value "AgentReady" and is "Ready"/,
  );
  const lost = alteredPool(aPool({ startupTaints: [{ ...agent, again: 'Boot' }] }), startup(agent));
  assert.match(lost?.message ?? '', /startupTaints\[agent:NoSchedule\]\.again was sent with value "Boot" and removed/);
  assert.match(alteredPool(startup(agent), aPool())?.message ?? '', /startupTaints\[agent:NoSchedule\] was .* removed/);
});
