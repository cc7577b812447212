import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellWords } from '../../../../src/commands/view/drain.ts';

test('splits a line as a shell does, and expands nothing', () => {
  const cases: [string, string[] | undefined][] = [
    ['', []],
    [' --force  --timeout 5m ', ['--force', '--timeout', '5m']],
    [`--pod-selector 'app in (a, b)' --force`, ['--pod-selector', 'app in (a, b)', '--force']],
    [`--pod-selector="a=b"',c=d'`, ['--pod-selector=a=b,c=d']],
    [`"a \\"b\\" \\n" '\\' a\\ b ''`, ['a "b" \\n', '\\', 'a b', '']],
    ['$HOME *', ['$HOME', '*']],
    [`--pod-selector 'app`, undefined],
    ['"a', undefined],
    ['a\\', undefined],
  ];
  for (const [line, words] of cases) assert.deepEqual(shellWords(line), words, line);
});
