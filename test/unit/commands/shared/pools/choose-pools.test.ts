/** `NAME…`, `-l` and `--all`. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parsePoolChoice } from '../../../../../src/commands/shared/pools/choose-pools.ts';

const ALL = { all: true } as const;

describe('one of names, selector and all', () => {
  test('accepts names', () => assert.deepEqual(parsePoolChoice(['a', 'b'], { all: false }), { names: ['a', 'b'] }));
  test('accepts a selector', () =>
    assert.deepEqual(parsePoolChoice([], { selector: 'a=b', all: false }), { selector: 'a=b' }));
  test('accepts --all', () => assert.deepEqual(parsePoolChoice(undefined, ALL), ALL));
  test('accepts none if that has a meaning', () => assert.deepEqual(parsePoolChoice([], { all: false }, ALL), ALL));
});

const NEXT = 'name a pool, or use -l SELECTOR or --all';
const refusals: [names: string[], flags: { selector?: string; all: boolean }, message: string][] = [
  [[], { all: false }, 'no pool is specified'],
  [['a'], { selector: 'x', all: false }, 'a name cannot be provided when a selector is specified'],
  [['a'], ALL, 'a name cannot be provided when --all is specified'],
  [[], { selector: 'x', all: true }, 'cannot set --all and --selector at the same time'],
];
for (const [names, flags, message] of refusals) {
  test(`refuses ${JSON.stringify([names, flags])}`, () => {
    assert.throws(() => parsePoolChoice(names, flags), { kind: 'usage', message, next: NEXT });
  });
}

test('does not suggest --all if no name means all', () => {
  const next = 'name a pool, or use -l SELECTOR';
  assert.throws(() => parsePoolChoice(['a'], { selector: 'x' }, ALL), { kind: 'usage', next });
});
