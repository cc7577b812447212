/** Which names of others are safe to offer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import manifest from '../../../../oclif.manifest.json' with { type: 'json' };
import type { Grammar } from '../../../../src/cli/completion/grammar.ts';
import { answer, fakeNames } from './fake-names.ts';

/** Words that a shell expands, flags, directives, line breaks, and non-ASCII characters. */
const EVIL = [
  ...Array.from('$`"\'\\;&|<>(){}[]*?!#~%^ \n\t\r\u001b\u007f\u00a0\u202e', sign => `e${sign}x`),
  'e$(touch x)',
  'e`touch x`',
  'é',
  '-e',
  '--kubeconfig=e',
  ':0',
  '=e',
  '~e',
  '',
  'e'.repeat(513),
];
const GOOD = ['e.example.com/one_2', 'e', 'arn:aws:eks:eu-west-1:1:cluster/e', 'admin@eu+1', 'a=b,c'];
const MIXED = [...EVIL, ...GOOD];

describe('offers only words that every shell takes literally', () => {
  const port = () =>
    fakeNames({
      access: () => ({ contexts: MIXED, clusters: MIXED, users: MIXED }),
      list: async () => ({
        names: MIXED,
        labelKeys: MIXED,
        labelValues: { a: MIXED },
        resources: MIXED,
        recorded: { gpu: MIXED },
      }),
    });
  const cases: [words: string[], usual: string[]][] = [
    [['get', ''], []],
    [['get', '--context', ''], []],
    [['get', '--cluster', ''], []],
    [['get', '--user', ''], []],
    [['nodes', '--why', ''], []],
    [['cordon', 'gpu', '--node', ''], []],
    [
      ['top', '--resources', ''],
      ['cpu', 'memory', 'pods', 'ephemeral-storage', 'all'],
    ],
    [
      ['top', '--resources', 'all', '--sort-by', ''],
      ['name', 'nodes'],
    ],
  ];
  for (const [words, usual] of cases) {
    test(JSON.stringify(words), async () => {
      const lines = (await answer(words, { port: port() })).trimEnd().split('\n');
      assert.match(lines.pop() ?? '', /^:\d$/);
      assert.deepEqual(lines.toSorted(), [...usual, ...GOOD].toSorted());
    });
  }

  test('completes labels with the operator that follows', async () => {
    const lines = (await answer(['get', '-l', ''], { port: port() })).trimEnd().split('\n');
    assert.deepEqual(lines.slice(0, -1).toSorted(), GOOD.map(key => `${key}=`).toSorted());
    const values = (await answer(['get', '-l', 'a='], { port: port() })).trimEnd().split('\n');
    assert.deepEqual(values.slice(0, -1).toSorted(), GOOD.map(value => `a=${value}`).toSorted());
  });

  test('offers nothing after typed text that is unsafe', async () => {
    for (const typed of ['$(touch x),', '`x`,', 'a b,']) {
      assert.equal(await answer(['top', '--resources', typed], { port: port() }), ':4\n');
    }
  });
});

test('removes characters that a shell expands from descriptions', async () => {
  const commands = manifest.commands as Grammar;
  const evil = { summary: 'Do $(touch x) `y` \\z\n\tw', args: {}, flags: {} };
  assert.equal(await answer(['evi'], { commands: { ...commands, evil } }), 'evil\tDo (touch x) y zw\n:4\n');
  for (const command of ['', ...Object.keys(commands)]) {
    const text = await answer(command === '' ? [''] : [command, '--']);
    for (const line of text.trimEnd().split('\n').slice(0, -1)) {
      assert.match(line, /^[A-Za-z0-9._/:=,@+-]+\t[A-Za-z0-9._/:=,@+ ;!()'"-]+$/);
    }
  }
});
