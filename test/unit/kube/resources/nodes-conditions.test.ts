import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trueConditions } from '../../../../src/kube/resources/nodes.ts';

const all = (...types: string[]) => types.map(type => ({ type, status: 'True' }));

test('keeps the types of True conditions in order, and Ready separately', () => {
  const conditions = [
    ...all('Ready', 'e.com/B', 'AgentReady', 'AgentReady'),
    { type: 'MemoryPressure', status: 'False' },
    { type: 'Gone', status: 'Unknown' },
    { type: 'None' },
    {},
  ];
  assert.deepEqual(trueConditions(conditions), { ready: true, conditions: ['AgentReady', 'e.com/B'] });
});

test('a node without conditions other than Ready has no list', () => {
  assert.deepEqual(trueConditions(all('Ready')), { ready: true });
  assert.deepEqual(trueConditions([{ type: 'Ready', status: 'False' }]), { ready: false });
  assert.deepEqual(trueConditions([]), { ready: false });
});

test('nodes share equal lists', () => {
  const [one, other] = [trueConditions(all('A', 'B')), trueConditions(all('B', 'Ready', 'A'))];
  assert.equal(one.conditions, other.conditions);
});

test('leaves out types that no pool can wait for, and more than 64', () => {
  assert.deepEqual(trueConditions(all('a b', '', 'x'.repeat(64), 'a/b/c')), { ready: false });
  const many = Array.from({ length: 100 }, (_, index) => `C${index}`);
  assert.equal(trueConditions(all(...many, 'Ready')).conditions?.length, 64);
});

test('shares at most 1,000 lists of at most 1,000 characters', () => {
  const twice = (...types: string[]) => [trueConditions(all(...types)), trueConditions(all(...types))] as const;
  const isShared = ([one, other]: ReturnType<typeof twice>) => one.conditions === other.conditions;
  const long = Array.from({ length: 20 }, (_, index) => `C${index}${'x'.repeat(60)}`);
  assert.equal(isShared(twice(...long)), false);
  assert.equal(isShared(twice('Shared')), true);
  for (let node = 0; node < 1_000; node++) trueConditions(all(`Own${node}`));
  assert.equal(isShared(twice('Late')), false);
  assert.equal(isShared(twice('Shared')), true, 'those that were there stay');
});
