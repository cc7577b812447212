import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseWaitCondition } from '../../../../src/commands/wait/command.ts';

describe('--for', () => {
  for (const [text, expected] of [
    ['status=200', { kind: 'status', value: 200 }],
    ['nodes=0', { kind: 'nodes', value: 0 }],
    ['ready=12', { kind: 'ready', value: 12 }],
    ['delete', { kind: 'delete' }],
    ['Delete', { kind: 'delete' }],
    ['CREATE', { kind: 'create' }],
    ['condition=Ready', { kind: 'condition', type: 'Ready', value: 'True' }],
    ['condition=ready=false', { kind: 'condition', type: 'ready', value: 'false' }],
  ] as const) {
    test(text, async () => assert.deepEqual(await parseWaitCondition(text), expected));
  }

  for (const text of [
    '',
    'status',
    'status=',
    'status=x',
    'ready=-1',
    'ready=1.5',
    'condition=',
    'condition=Ready=',
    'nodes==3',
  ]) {
    test(`refuses "${text}"`, async () => {
      const expected = { kind: 'usage', message: `--for: unrecognized condition: "${text}"` };
      await assert.rejects(parseWaitCondition(text), expected);
    });
  }

  for (const text of ['ready', 'Ready', 'status=Normal', 'status=ready']) {
    test(`names the condition that "${text}" probably means`, async () => {
      await assert.rejects(parseWaitCondition(text), {
        kind: 'usage',
        next: 'use --for=condition=Ready, or --for=status=200',
      });
    });
  }

  for (const text of [
    'jsonpath=',
    'jsonpath={.a}=',
    "jsonpath={.a}=''",
    'jsonpath={.a}=b=c',
    'jsonpath={.a',
    'jsonpath=a{b}',
  ]) {
    test(`refuses "${text}"`, async () => {
      await assert.rejects(parseWaitCondition(text), { kind: 'usage', message: /^--for=jsonpath: / });
    });
  }
});
