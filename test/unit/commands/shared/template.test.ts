import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readTemplate } from '../../../../src/commands/shared/template.ts';

const dir = mkdtempSync(join(tmpdir(), 'output-template-'));
after(() => rmSync(dir, { recursive: true }));

const POOL = { metadata: { name: 'gpu' }, spec: { taints: [] } };

async function print(output: string, headers = true): Promise<string> {
  return (await readTemplate(output, { headers, isTerminal: false }))()([POOL]);
}

function file(text: string): string {
  const path = join(dir, 'template');
  writeFileSync(path, text);
  return path;
}

test('reads templates from the command line', async () => {
  assert.equal(await print('jsonpath={.metadata.name}={.x}'), 'gpu=');
  assert.equal(await print('jsonpath-as-json={.metadata.name}'), '[\n    "gpu"\n]\n');
  assert.equal(await print('custom-columns=NAME:.metadata.name'), 'NAME\ngpu\n');
  assert.equal(await print('custom-columns=NAME:.metadata.name', false), 'gpu\n');
});

test('reads templates from files; a columns file always prints its headers', async () => {
  assert.equal(await print(`jsonpath-file=${file('{.metadata.name}\n')}`), 'gpu\n');
  assert.equal(await print(`custom-columns-file=${file('NAME\n.metadata.name\n')}`, false), 'NAME\ngpu\n');
});

test('removes a byte order mark, and keeps line ends as kubectl does', async () => {
  assert.equal(await print(`jsonpath-file=${file('\uFEFF{.metadata.name}\r\n')}`), 'gpu\r\n');
  assert.equal(await print(`custom-columns-file=${file('\uFEFFNAME\r\n.metadata.name\r\n')}`), 'NAME\ngpu\n');
});

test('reports errors of the command line, a file, a template and its evaluation', async () => {
  const refuses = (output: string, kind: string, message: string) =>
    assert.rejects(print(output), { name: 'NodepoolError', kind, message }, output);
  await refuses('go-template={{.}}', 'usage', 'unknown output format "go-template"');
  await refuses('nonsense', 'usage', 'unknown output format "nonsense"');
  for (const format of ['jsonpath', 'jsonpath-file', 'jsonpath-as-json', 'custom-columns', 'custom-columns-file']) {
    await refuses(format, 'usage', `-o ${format} needs a template`);
    await refuses(`${format}=`, 'usage', `-o ${format} needs a template`);
  }
  await refuses('jsonpath-file=/no/such', 'input', '-o jsonpath-file: /no/such: no such file');
  await refuses('jsonpath={.a', 'input', '-o jsonpath: unclosed action');
  await refuses(
    'custom-columns=A',
    'input',
    '-o custom-columns: unexpected custom-columns spec: A, expected <header>:<json-path-expr>',
  );
  await refuses(
    `custom-columns-file=${file('A\n')}`,
    'input',
    '-o custom-columns-file: invalid template, missing spec line. Expected format is one line of space separated headers, one line of space separated column specs.',
  );
  await refuses('jsonpath={.spec.taints[0]}', 'input', '-o jsonpath: array index out of bounds: index 0, length 0');
});
