/** Output larger than a pipe buffer: complete for a slow reader, no error when the reader closes the pipe. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { NO_TERMINAL, poolYaml } from './commands.ts';

const POOLS = 2_000;
const folder = await mkdtemp(join(tmpdir(), 'nodepool-pipes-'));
const file = join(folder, 'pools.yaml');
/** Prints about 500 kB without a cluster. */
const program = [...productCommand(), 'create', '-f', file, '--dry-run=client', '-o', 'json']
  .map(word => `'${word.replaceAll("'", `'\\''`)}'`)
  .join(' ');

before(() =>
  writeFile(file, Array.from({ length: POOLS }, (_, i) => poolYaml(`pool-${i}`, '{handler: runc}')).join('---\n')),
);
after(() => rm(folder, { recursive: true }));

/** Runs a line of sh in which `$program` is the command that prints. */
function shell(line: string) {
  return run('sh', ['-c', line.replaceAll('$program', program)], { env: { PATH: process.env.PATH, HOME: folder } });
}

test('a slow reader gets the whole output', async () => {
  const direct = await shell('$program');
  assert.equal(JSON.parse(direct.stdout).items.length, POOLS);
  assert.deepEqual(await shell('$program | (sleep 1; cat)'), direct);
});

test('ends without a message when the reader closes the pipe', async () => {
  const { stdout, stderr } = await shell('{ $program; echo "exit $?" >&2; } | head -n 1');
  assert.deepEqual({ stdout, stderr }, { stdout: '{\n', stderr: 'exit 0\n' });
  const closed = await shell('{ $program; echo "exit $?" >&2; } | true');
  assert.deepEqual(closed, { code: 0, stdout: '', stderr: 'exit 0\n' });
});

test('ends without a message when a pager quits', { skip: NO_TERMINAL }, async () => {
  const line = `stty cols 80 rows 24; { ${program}; echo "exit $?" > '${folder}/exit'; } | less; cat '${folder}/exit'`;
  const { code, stdout } = await run('script', ['-qec', line, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: folder, TERM: 'xterm' },
    stdin: ' q',
  });
  assert.equal(code, 0);
  assert.match(stdout, /"apiVersion"[\s\S]*exit 0/);
});

test('does not crash on a closed stdout or stderr', async () => {
  const { code, stderr } = await shell('$program >&-');
  assert.ok(code === 0 || code === 1, `${code}: ${stderr}`);
  assert.doesNotMatch(stderr, /this is a bug| at /);
  const gone = await shell(`{ ${productCommand().join(' ')} nonsense 2>&1; echo "exit $?" >&3; } 3>&2 | true`);
  assert.equal(gone.stderr, 'exit 2\n');
});

test('Node prints no warning about NO_COLOR beside FORCE_COLOR', async () => {
  const { stderr } = await shell('FORCE_COLOR=1 NO_COLOR=1 NODE_DISABLE_COLORS=1 $program >/dev/null');
  assert.equal(stderr, '');
});
