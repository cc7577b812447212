import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResources } from '../../../src/cli/flags.ts';
import Cordon from '../../../src/commands/cordon/command.ts';
import Drain from '../../../src/commands/drain/command.ts';
import Uncordon from '../../../src/commands/uncordon/command.ts';

test('--resources takes `all` or names, and drops duplicates', () => {
  assert.equal(parseResources('all'), 'all');
  assert.deepEqual(parseResources('cpu, nvidia.com/gpu,cpu'), ['cpu', 'nvidia.com/gpu']);
  for (const text of ['', 'cpu,', ',']) {
    const message = `--resources: "${text}" has an empty name`;
    assert.throws(() => parseResources(text), { name: 'NodepoolError', kind: 'usage', message });
  }
});

test('--node takes nodes in the format of `kubectl get nodes -o name`, also comma-separated', async () => {
  for (const { flags } of [Cordon, Uncordon, Drain]) {
    const parse = (text: string) => (flags.node.parse as (text: string) => Promise<string>)(text);
    assert.equal(await parse('node/a,nodes/b,c'), 'a,b,c');
    await assert.rejects(parse('a,'), { kind: 'usage', message: 'a name cannot be empty' });
  }
});
