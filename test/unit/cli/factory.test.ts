import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFactory } from '../../../src/cli/factory.ts';
import { testIo } from './test-io.ts';

test('a second connect() throws, as its options would be ignored', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-factory-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const kubeconfig = join(dir, 'config');
  writeFileSync(
    kubeconfig,
    '{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: "https://a"}}], users: [{name: a}]}',
  );
  const { deps, close } = createFactory({ io: testIo(), version: '0.0.0', root: '' }, { kubeconfig, verbosity: 0 });
  t.after(close);
  const connection = await deps.connect({ concurrency: 1 });
  assert.equal(connection.clusterName, 'a');
  await assert.rejects(deps.connect(), /connect\(\) is called twice/);
});
