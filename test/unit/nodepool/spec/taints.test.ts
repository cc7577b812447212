import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { arrivingNoExecute, evictedAfter, tolerates } from '../../../../src/nodepool/spec/taints.ts';
import type { Toleration } from '../../../../src/nodepool/types.ts';
import { taint } from '../fixtures.ts';

describe('tolerates', () => {
  const cases: [toleration: Toleration, taint: string, expected: boolean][] = [
    [{ key: 'a', value: 'x', effect: 'NoExecute' }, 'a=x:NoExecute', true],
    [{ key: 'a', operator: 'Equal', value: 'y' }, 'a=x:NoExecute', false],
    [{ key: 'a', operator: 'Equal' }, 'a:NoExecute', true],
    [{ key: 'a' }, 'a=x:NoExecute', false],
    [{ key: 'a', operator: 'Exists' }, 'a=x:NoExecute', true],
    [{ key: 'b', operator: 'Exists' }, 'a=x:NoExecute', false],
    [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }, 'a:NoExecute', false],
    [{ operator: 'Exists' }, 'a=x:NoExecute', true],
    [{ operator: 'Exists', effect: 'NoExecute' }, 'a=x:NoExecute', true],
    // The server refuses an empty key without Exists; here it compares values.
    [{ value: 'x' }, 'a=x:NoExecute', true],
    [{ key: 'a', operator: 'Lt', value: '10' }, 'a=9:NoExecute', true],
    [{ key: 'a', operator: 'Lt', value: '10' }, 'a=10:NoExecute', false],
    [{ key: 'a', operator: 'Gt', value: '-5' }, 'a=0:NoExecute', true],
    [{ key: 'a', operator: 'Gt', value: '5' }, 'a=06:NoExecute', false],
    [{ key: 'a', operator: 'Gt', value: '5' }, 'a:NoExecute', false],
    [{ key: 'a', operator: 'Lt', value: '9223372036854775808' }, 'a=1:NoExecute', false],
    [{ key: 'a', operator: 'Gt', value: '9007199254740992' }, 'a=9007199254740993:NoExecute', true],
    [{ key: 'a', operator: 'NotThere' }, 'a:NoExecute', false],
  ];
  for (const [toleration, text, expected] of cases) {
    test(`${JSON.stringify(toleration)} ${expected ? 'covers' : 'does not cover'} ${text}`, () => {
      assert.equal(tolerates(toleration, taint(text)), expected);
    });
  }
});

describe('evictedAfter', () => {
  const forever: Toleration = { key: 'a', operator: 'Exists' };
  const cases: [what: string, tolerations: Toleration[], taints: string[], expected: number][] = [
    ['no taint: never', [], [], Infinity],
    ['taints with other effects: never', [], ['a:NoSchedule', 'b:PreferNoSchedule'], Infinity],
    ['no toleration: at once', [], ['a:NoExecute'], 0],
    ['a toleration without tolerationSeconds: never', [forever], ['a:NoExecute'], Infinity],
    ['one of two taints not tolerated: at once', [forever], ['a:NoExecute', 'b:NoExecute'], 0],
    ['tolerationSeconds', [{ ...forever, tolerationSeconds: 300 }], ['a:NoExecute'], 300],
    ['zero tolerationSeconds: at once', [{ ...forever, tolerationSeconds: 0 }], ['a:NoExecute'], 0],
    ['negative tolerationSeconds: at once', [{ ...forever, tolerationSeconds: -1 }], ['a:NoExecute'], 0],
    [
      'the shortest tolerationSeconds of matching tolerations counts',
      [
        { ...forever, tolerationSeconds: 300 },
        { key: 'b', operator: 'Exists', tolerationSeconds: 60 },
        { key: 'c', operator: 'Exists', tolerationSeconds: 1 },
      ],
      ['a:NoExecute', 'b:NoExecute'],
      60,
    ],
    [
      'the first matching toleration counts',
      [{ operator: 'Exists', tolerationSeconds: 9 }, forever],
      ['a:NoExecute'],
      9,
    ],
  ];
  for (const [what, tolerations, taints, expected] of cases) {
    test(what, () => assert.equal(evictedAfter(tolerations, taints.map(taint)), expected));
  }
});

test('arrivingNoExecute() returns new NoExecute taints and those with a new value', () => {
  const before = ['a=1:NoExecute', 'b=1:NoExecute', 'c:NoSchedule', 'gone:NoExecute'].map(taint);
  const after = ['a=1:NoExecute', 'b=2:NoExecute', 'c:NoExecute', 'd:NoSchedule'].map(taint);
  assert.deepEqual(arrivingNoExecute(before, after), ['b=2:NoExecute', 'c:NoExecute'].map(taint));
});
