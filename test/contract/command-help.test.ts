/** The help screens say what oclif.manifest.json says, in a layout that is the same for all commands. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import manifest from '../../oclif.manifest.json' with { type: 'json' };
import { main } from '../../src/main.ts';
import { testIo } from '../unit/cli/test-io.ts';

/** Lines and columns of a usual terminal window. */
const [LINES, COLUMNS] = [50, 80];
const OPTIONS_HINT = "Use 'kubectl nodepool options' for the flags that every command takes.";
const GUIDE = new URL('../../docs/guide.md', import.meta.url);

interface Flag {
  name: string;
  char?: string;
  summary: string;
  type: string;
  helpGroup?: string;
  helpValue?: string;
  default?: unknown;
  options?: string[];
  multiple?: boolean;
  required?: boolean;
  allowNo?: boolean;
}
interface Arg {
  name: string;
  description: string;
  required?: boolean;
  multiple?: boolean;
  options?: string[];
}
interface Command {
  summary: string;
  description?: string;
  examples: { description: string; command: string }[];
  args: Record<string, Arg>;
  flags: Record<string, Flag>;
}

const commands = Object.entries(manifest.commands as Record<string, Command>);

async function shown(...words: string[]): Promise<string> {
  const io = testIo({ columns: COLUMNS });
  assert.equal(await main(words, io, ''), 0);
  assert.equal(io.stderrText(), '');
  return io.stdoutText();
}

/** Without line breaks and columns. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function argLabel({ name, required, multiple }: Arg): string {
  const label = `${name.toUpperCase()}${multiple ? '...' : ''}`;
  return required ? label : `[${label}]`;
}

function argLine(arg: Arg): string {
  const values = arg.options === undefined ? '' : `(${arg.options.join('|')}) `;
  return `${argLabel(arg)} ${values}${arg.description}`;
}

function flagLine(flag: Flag): string {
  const char = flag.char === undefined ? '' : `-${flag.char}, `;
  const value = flag.type === 'option' ? `=${flag.helpValue}${flag.multiple ? '...' : ''}` : '';
  const required = flag.required ? '(required) ' : '';
  // 0 goes without saying.
  const fallback = flag.type === 'option' && flag.default ? `[default: ${flag.default}] ` : '';
  return `${char}--${flag.allowNo ? '[no-]' : ''}${flag.name}${value} ${required}${fallback}${flag.summary}`;
}

/** First those of no group. */
function flagSections(flags: Flag[]): string[] {
  const groups = [...Map.groupBy(flags, ({ helpGroup = '' }) => helpGroup)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return groups.map(([group, members]) => [group, 'FLAGS', ...members.map(flagLine)].join(' '));
}

function expectedSections(id: string, { summary, description, examples, args, flags }: Command): string[] {
  const own = Object.values(flags).filter(({ helpGroup }) => helpGroup !== 'GLOBAL');
  const needed = own.filter(({ required }) => required).map(({ name, helpValue }) => `--${name}=${helpValue}`);
  const usage = ['USAGE $ kubectl nodepool', id, ...Object.values(args).map(argLabel), ...needed, '[FLAGS]'].join(' ');
  const lines = examples.map(example => `# ${example.description} ${example.command}`);
  return [
    summary,
    usage,
    ...(description === undefined ? [] : `DESCRIPTION ${description}`.split('\n\n')),
    ['EXAMPLES', ...lines].join(' ').replaceAll('<%= config.bin %>', 'kubectl nodepool'),
    ...(Object.keys(args).length === 0 ? [] : [['ARGUMENTS', ...Object.values(args).map(argLine)].join(' ')]),
    ...flagSections(own),
    OPTIONS_HINT,
  ].map(plain);
}

test('the help of a command equals its entry in oclif.manifest.json', async () => {
  for (const [id, command] of commands) {
    const text = await shown(id, '--help');
    assert.deepEqual(text.split('\n\n').map(plain), expectedSections(id, command), id);
  }
});

test('`options` lists the global flags of oclif.manifest.json', async () => {
  const flags = Object.values(commands[0]?.[1].flags ?? {}).filter(({ helpGroup }) => helpGroup === 'GLOBAL');
  const expected = [
    'The flags that every command takes, before or after its name.',
    ['FLAGS', ...flags.map(flagLine)].join(' '),
  ];
  assert.deepEqual((await shown('options')).split('\n\n').map(plain), expected);
});

test('the help of the program equals that in the guide', async () => {
  assert.ok(readFileSync(GUIDE, 'utf8').includes(`$ kubectl nodepool --help\n${await shown('--help')}`));
});

test('the help of a command fits a screen with aligned columns', async () => {
  for (const [id] of commands) {
    const text = await shown(id, '--help');
    const rows = text
      .trimEnd()
      .split('\n')
      .map(line => Math.max(1, Math.ceil(line.length / COLUMNS)));
    assert.ok(sum(rows) <= LINES, `${id}: ${sum(rows)} rows`);
    for (const section of text.split('\n\n')) {
      const [title = '', ...body] = section.split('\n');
      // A command that is copied has no line breaks.
      if (title !== 'EXAMPLES') for (const line of body) assert.ok(line.length <= COLUMNS, line);
      if (title !== 'ARGUMENTS' && !title.endsWith('FLAGS')) continue;
      const columns = body.map(line => /^ {2}( {2,}|\S.*? {2,})/.exec(line)?.[0].length);
      assert.equal(new Set(columns).size, 1, `${id}: ${columns}`);
    }
  }
});

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
