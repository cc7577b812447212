import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCommandLine } from '../../../src/cli/command-line.ts';
import { type Flag, GLOBAL, globalFlags } from '../../../src/cli/completion/grammar.ts';

describe('finds the command whose help is requested', () => {
  const cases: [argv: string[], expected: string | undefined][] = [
    [[], ''],
    [['help'], ''],
    [['--help'], ''],
    [['-h'], ''],
    [['help', 'create'], 'create'],
    [['help', '--help'], ''],
    [['help', 'help'], ''],
    [['create', '--help'], 'create'],
    [['create', '--help=true'], 'create'],
    [['create', '--help=false'], undefined],
    [['create', 'x', '-h'], 'create'],
    [['--context', 'x', '--help'], ''],
    [['create', 'help'], undefined],
    [['create', '--', '--help'], undefined],
    [['get'], undefined],
  ];
  for (const [argv, expected] of cases) {
    test(JSON.stringify(argv), () => assert.equal(readCommandLine(argv, {}).help, expected));
  }
});

describe('finds the command after global flags', () => {
  const global = { helpGroup: GLOBAL };
  const all: Flag[] = [
    { ...global, name: 'context', type: 'option' },
    { ...global, name: 'server', type: 'option', char: 's' },
    { ...global, name: 'verbosity', type: 'option', char: 'v', aliases: ['v'] },
    { ...global, name: 'all-namespaces', type: 'boolean', char: 'A' },
    { name: 'output', type: 'option', char: 'o' },
  ];
  const flags = globalFlags({ get: { args: {}, flags: Object.fromEntries(all.map(flag => [flag.name, flag])) } });
  const cases: [argv: string[], expected: string[]][] = [
    [
      ['--context', 'x', 'get', 'a'],
      ['get', '--context', 'x', 'a'],
    ],
    [
      ['--context=x', '-A', 'get'],
      ['get', '--context=x', '-A'],
    ],
    [
      ['-s', 'https://x', '-v6', '--v', '6', 'get', '-o', 'json'],
      ['get', '-s', 'https://x', '-v6', '--v', '6', '-o', 'json'],
    ],
    // As in kubectl, a command's own flags follow the command.
    [
      ['-o', 'json', 'get'],
      ['-o', 'json', 'get'],
    ],
    // Without a command, as kubectl: help.
    [
      ['--context', 'get'],
      ['--help', '--context', 'get'],
    ],
    // The unknown flag is named, and not the token.
    [
      ['--context=x', '-o', 'wide', 'get'],
      ['-o', 'wide', 'get', '--context=x'],
    ],
    [
      ['--', 'get', 'x'],
      ['--', 'get', 'x'],
    ],
    [
      ['--unknown', 'get'],
      ['--unknown', 'get'],
    ],
  ];
  for (const [argv, expected] of cases) {
    test(JSON.stringify(argv), () => assert.deepEqual(readCommandLine(argv, flags).words, expected));
  }

  test('returns the command whose help is requested', () => {
    assert.equal(readCommandLine(['--context', 'x', 'get', '--help'], flags).help, 'get');
    assert.equal(readCommandLine(['options'], flags).help, 'options');
  });
});

describe('reads the verbosity', () => {
  const cases: [argv: string[], expected: number][] = [
    [[], 0],
    [['get', '-v', '9'], 9],
    [['get', '-v9'], 9],
    [['get', '-v=6'], 6],
    [['get', '--v=8'], 8],
    [['get', '--verbosity', '7', 'x'], 7],
    [['get', '-v', 'x'], 0],
    [['get', '-v'], 0],
    [['get', '-v', '6', '-v', '9'], 6],
    [['get', '-l', 'x in (a) -v 9 '], 0],
    [['get', '--', '-v', '9'], 0],
  ];
  for (const [argv, expected] of cases) {
    test(JSON.stringify(argv), () => assert.equal(readCommandLine(argv, {}).verbosity, expected));
  }
});

describe('reads whether the log is JSON', () => {
  const cases: [argv: string[], expected: boolean][] = [
    [['get'], false],
    [['reconcile', '--log-format', 'json'], true],
    [['reconcile', '--log-format=json'], true],
    [['reconcile', '--log-format=text'], false],
    [['reconcile', '--log-format'], false],
    [['get', '-l', 'a --log-format json'], false],
    [['get', '--', '--log-format', 'json'], false],
  ];
  for (const [argv, expected] of cases) {
    test(JSON.stringify(argv), () => assert.equal(readCommandLine(argv, {}).jsonLog, expected));
  }
});
