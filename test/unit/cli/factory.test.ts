import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Connection, type ConnectOptions, createFactory } from '../../../src/cli/factory.ts';
import { testIo } from './test-io.ts';

test('on an open connection, creates dry-run connections, and refuses other options', async t => {
  const dry = {} as Connection;
  const open = { dryRun: () => dry } as Connection;
  const connect = (options?: ConnectOptions) =>
    createFactory({ io: testIo(), version: '0.0.0', root: '' }, { verbosity: 0 }, open).deps.connect(options);
  assert.equal(await connect(), open);
  assert.equal(await connect({ concurrency: 32, dryRun: false }), open);
  assert.equal(await connect({ dryRun: true }), dry);
  const meanwhile = t.mock.fn();
  assert.equal(await connect({ meanwhile }), open);
  assert.equal(meanwhile.mock.callCount(), 1);
  for (const options of [{ mayWrite: () => true }, { annotations: ['a'] }, { loginLimitMs: 1 }])
    await assert.rejects(connect(options), /cannot use a connection that is already open/);
});

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
