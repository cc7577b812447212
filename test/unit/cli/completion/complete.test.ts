import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Grammar } from '../../../../src/cli/completion/grammar.ts';
import { completionScript, SHELLS } from '../../../../src/commands/completion/scripts.ts';
import { commands } from '../../../../src/commands/index.ts';
import { answer, candidates, fakeNames } from './fake-names.ts';

describe('completes a word', () => {
  const pools = ['gpu', 'web', 'worker', ':4'];
  const nodes = ['node-a', 'node-b', ':4'];
  const cases: [words: string[], expected: string[]][] = [
    [['rec'], ['reconcile', ':4']],
    [
      ['help', 'unin'],
      ['uninstall', ':4'],
    ],
    [['help', 'get', ''], [':4']],
    [['nonsense', ''], [':4']],
    [['--con'], ['--context', ':4']],
    // Global flags before the command.
    [['--v'], ['--verbosity', '--version', ':4']],
    [
      ['--context', 'ki'],
      ['kind', ':4'],
    ],
    [
      ['--context=kind', 'rec'],
      ['reconcile', ':4'],
    ],
    [
      ['-v', '6', '--context', 'kind', 'get', '--context', ''],
      ['kind', 'prod@eu', ':4'],
    ],
    [['--context', 'kind', '--cluster=c1', 'get', ''], pools],
    [
      ['--watch', 'help', 'unin'],
      ['uninstall', ':4'],
    ],
    [['--context', 'kind', 'get', '--con'], [':4']],
    [['constructor', ''], [':4']],
    [['get', ''], pools],
    [
      ['get', 'w'],
      ['web', 'worker', ':4'],
    ],
    [
      ['get', 'web', 'w'],
      ['worker', ':4'],
    ],
    [['edit', 'web', ''], [':4']],
    [['create', ''], [':4']],
    [['get', '-o', 'json', ''], pools],
    [['get', '--watch', '-v', '6', ''], pools],
    [['install', '--output=json', '--o'], [':4']],
    [
      ['create', '--label', 'a=b', '--lab'],
      ['--label', ':4'],
    ],
    [['get', '--', '--out'], [':4']],
    [
      ['get', '--', 'w'],
      ['web', 'worker', ':4'],
    ],
    [
      ['delete', '--dry-run', 'w'],
      ['web', 'worker', ':4'],
    ],
    // Members of the pool by record or role; for `add`, nodes without pool.
    [
      ['remove', 'worker', ''],
      ['node-a', ':4'],
    ],
    [['remove', 'worker', 'node-a', ''], [':4']],
    [['remove', 'constructor', ''], [':4']],
    [
      ['add', 'gpu', ''],
      ['node-a', ':4'],
    ],
    [['add', 'worker', ''], [':4']],
    [['move', ''], nodes],
    [
      ['move', '--from', 'gpu', ''],
      ['node-b', ':4'],
    ],
    [['opt'], ['options', ':4']],
    [
      ['completion', 'f'],
      ['fish', ':4'],
    ],
    [[], [...Object.keys(commands), 'options', 'help', ':4']],
  ];
  for (const [words, expected] of cases) {
    test(JSON.stringify(words), async () => assert.deepEqual(await candidates(...words), expected));
  }

  test("completes whole words for the project's scripts", async () => {
    const whole = (...words: string[]) => answer(words, { wholeWords: true });
    assert.equal(await whole('get', '--output=y'), '--output=yaml\n:4\n');
    assert.equal(await whole('create', 'x', '--taint=my-key=b:NoE'), '--taint=my-key=b:NoExecute\n:4\n');
  });

  test('describes commands and flags', async () => {
    assert.match(await answer(['get', '--no-h']), /^--no-headers\tDo not print [^\n]+\n:4\n$/);
    assert.match(await answer(['dif']), /^diff\tShow what reconcile [^\n]+\n:4\n$/);
  });

  test('omits hidden flags, and offers --no- for flags that can be negated', async () => {
    const flag = { type: 'boolean' } as const;
    const flags = {
      secret: { ...flag, name: 'secret', hidden: true },
      bars: { ...flag, name: 'bars', allowNo: true },
    };
    const grammar: Grammar = { top: { args: {}, flags }, old: { hidden: true, args: {}, flags } };
    assert.equal(await answer(['top', '--'], { commands: grammar }), '--bars\n--no-bars\n--help\tShow the help.\n:4\n');
    assert.equal(await answer(['top', '--no-bars', '--ba'], { commands: grammar }), ':4\n');
    assert.equal(await answer(['ol'], { commands: grammar }), ':4\n');
  });

  test('completes the values in the help, and accepts any word for a placeholder in capitals', async () => {
    const output = { name: 'format', type: 'option', helpValue: 'json|jsonpath=|EXPR' } as const;
    const grammar: Grammar = { get: { args: {}, flags: { output } } };
    assert.equal(await answer(['get', '--format', 'j'], { commands: grammar }), 'json\njsonpath=\n:4\n');
    assert.equal(await answer(['get', '--format', 'jsonp'], { commands: grammar }), 'jsonpath=\n:6\n');
  });

  test('completes files for the certificates of a connection', async () => {
    const option = (name: string) => ({ [name]: { name, type: 'option' } as const });
    const grammar: Grammar = { get: { args: {}, flags: { ...option('server'), ...option('client-key') } } };
    assert.equal(await answer(['get', '--server', ''], { commands: grammar }), ':4\n');
    assert.equal(await answer(['get', '--client-key', ''], { commands: grammar }), ':0\n');
  });

  test('asks the cluster that earlier flags select', async () => {
    const port = fakeNames();
    await answer(['--as-group=g', 'get', '--context', 'kind', '--as=me', '--kubeconfig', 'k', ''], { port });
    const [flags] = port.flags;
    assert.deepEqual(flags, { kubeconfig: 'k', context: 'kind', as: 'me', 'as-group': ['g'] });
  });

  test('offers nothing without a kubeconfig, without an answer, or when a login would be interactive', async () => {
    const fail = () => {
      throw new Error('no such file');
    };
    for (const changes of [{ identity: fail }, { access: fail }, { list: fail }, { isQuiet: () => false }]) {
      const what = 'access' in changes ? '--context' : '--nodes';
      assert.equal(await answer(['create', what, ''], { port: fakeNames(changes) }), ':4\n');
      assert.equal(await answer(['top', '--resources', 'c'], { port: fakeNames(changes) }), 'cpu\n:4\n');
      assert.equal(await answer(['top', '--sort-by', 'c'], { port: fakeNames(changes) }), 'cpu\n:4\n');
    }
  });
});

test('has a script for every shell', () => {
  for (const shell of SHELLS) assert.match(completionScript(shell), / __complete(Words)? /);
});
