import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseWaitCondition } from '../../../../src/commands/wait/condition.ts';

describe('--for', () => {
  for (const [text, expected] of [
    ['status=200', { kind: 'status', value: 200 }],
    ['nodes=0', { kind: 'nodes', value: 0 }],
    ['ready=12', { kind: 'ready', value: 12 }],
    ['delete', { kind: 'delete' }],
    ['Delete', { kind: 'delete' }],
  ] as const) {
    test(text, () => assert.deepEqual(parseWaitCondition(text), expected));
  }

  for (const text of ['', 'status', 'status=', 'status=x', 'ready=-1', 'ready=1.5', 'condition=Ready', 'nodes==3']) {
    test(`refuses "${text}"`, () => {
      const expected = { kind: 'usage', message: `--for: unrecognized condition: "${text}"` };
      assert.throws(() => parseWaitCondition(text), expected);
    });
  }
});
