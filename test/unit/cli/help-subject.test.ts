import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { helpSubject } from '../../../src/cli/help-subject.ts';

describe('what help is asked for', () => {
  const cases: [argv: string[], expected: string | undefined][] = [
    [[], ''],
    [['help'], ''],
    [['--help'], ''],
    [['-h'], ''],
    [['help', 'create'], 'create'],
    [['help', '--help'], ''],
    [['create', '--help'], 'create'],
    [['create', 'x', '-h'], 'create'],
    [['--context', 'x', '--help'], ''],
    [['create', 'help'], undefined],
    [['create', '--', '--help'], undefined],
    [['get'], undefined],
  ];
  for (const [argv, expected] of cases) {
    test(JSON.stringify(argv), () => assert.equal(helpSubject(argv), expected));
  }
});
