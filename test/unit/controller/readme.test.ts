/** The README of src/controller: its sample runs, and its table lists every file. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { flushPromises } from './fake-clock.ts';
import { FakeLease } from './fake-lease.ts';
import { added, FakeSource, initialEnd, type thing } from './fake-source.ts';

const FOLDER = new URL('../../../src/controller/', import.meta.url);
const README = readFileSync(new URL('README.md', FOLDER), 'utf8');
const [, LINES, SAMPLE = ''] = /^## A controller in (\d+) lines\n\n```ts\n(.*?)^```/ms.exec(README) ?? [];
/** The modules that the sample uses. */
const USED = ['clock', 'controller', 'leader-election', 'manager', 'reflector', 'store', 'work-queue'];

const CLASSES = 'systemClock, WorkQueue, Store, Reflector, Controller, LeaderElector, Manager';

type Main = (variables: Record<string, unknown>) => Promise<void>;

/** The sample as a function of the variables that it does not declare. */
async function load(names: string[]): Promise<Main> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-readme-'));
  try {
    const imports = USED.map((file, index) => `import * as m${index} from '${new URL(`${file}.ts`, FOLDER)}';\n`);
    const modules = USED.map((_, index) => `...m${index}`).join(', ');
    const head = `export async function main({ ${names.join(', ')} }) {\nconst { ${CLASSES} } = { ${modules} };\n`;
    const file = join(dir, 'sample.mts');
    await writeFile(file, `${imports.join('')}${head}${SAMPLE}}\n`);
    return ((await import(pathToFileURL(file).href)) as { main: Main }).main;
  } finally {
    await rm(dir, { recursive: true });
  }
}

test('the sample of the README runs: it writes its count, exits with 0 and releases the lease', async () => {
  const [source, server] = [new FakeSource(), new FakeLease()];
  const written = Promise.withResolvers<string>();
  const process = { exitCode: 7, on: (_: string, stop: () => void) => written.promise.then(stop) };
  const variables = {
    source,
    toPod: ({ metadata }: ReturnType<typeof thing>) => ({ nodeName: `node of ${metadata.name}` }),
    writeCount: async (node: string, count: number) => {
      written.resolve(`${node}: ${count}`);
      return true;
    },
    lease: server.port().port,
    identity: 'a',
    log: () => {},
    process,
  };
  const main = await load(Object.keys(variables));
  const ended = main(variables);
  await flushPromises();
  source.watches[0]?.send(added('a', 1), initialEnd(1));
  assert.equal(await written.promise, 'node of a: 1');
  await ended;
  assert.equal(process.exitCode, 0);
  assert.equal(server.lease?.record.holder, '');
});

test('the sample of the README has the stated number of lines', () => {
  assert.equal(SAMPLE.trimEnd().split('\n').length, Number(LINES));
});

test('the table of the README lists exactly the files of the folder', () => {
  const rows = README.split('\n').filter(line => line.startsWith('| `'));
  const named = rows.flatMap(row => [...(row.split(' | ')[0] ?? '').matchAll(/`(.+?)`/g)].map(([, file]) => file));
  const files = readdirSync(FOLDER).filter(file => file.endsWith('.ts'));
  assert.deepEqual(named.toSorted(), files.toSorted());
});
