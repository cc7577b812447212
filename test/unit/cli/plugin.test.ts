import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Program, ProgramConfig } from '../../../src/cli/plugin.ts';
import { main } from '../../../src/main.ts';
import { testIo } from './test-io.ts';

test('has exactly the commands of the manifest', async () => {
  const program = {
    root: '/',
    pjson: { name: 'any', version: '1.2.3', description: '' },
    manifest: { version: '1.2.3', commands: { get: { id: 'get' }, wait: { id: 'wait' } } },
    commands: { get: { group: 'LOOK', load: async () => ({ default: class {} }) } },
  } as unknown as Program;
  const config = new ProgramConfig(program, testIo());
  assert.deepEqual(config.commandIDs, ['get', 'wait']);
  assert.equal(config.findCommand('constructor'), undefined);
  assert.equal((await config.findCommand('get')?.load())?.id, 'get');
  await assert.rejects(async () => config.findCommand('wait')?.load(), /wait is in the manifest and not in commands/);
});

test('does not look for an oclif theme', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-theme-'));
  const { XDG_CONFIG_HOME: before } = process.env;
  t.after(() => {
    if (before === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = before;
    rmSync(folder, { recursive: true });
  });
  const shown = async () => {
    const io = testIo({ color: true });
    assert.equal(await main(['get', '--help'], io, ''), 0);
    return io.stdoutText();
  };
  const plain = await shown();
  mkdirSync(join(folder, 'kubectl-nodepool'));
  writeFileSync(join(folder, 'kubectl-nodepool', 'theme.json'), '{"flag":"red","bin":"red","sectionHeader":"red"}');
  process.env.XDG_CONFIG_HOME = folder;
  assert.equal(await shown(), plain);
});
