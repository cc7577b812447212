/** Objects nested thousands of levels deep, which the server accepts when a CRD preserves unknown fields. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { API_VERSION } from '../../src/nodepool/types.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const run = (...args: string[]) => cliHere(testEnv.cluster(), args, { env: { EDITOR: 'true' } });
/** The server refuses 10,000. */
const LEVELS = 9_900;
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POOLS = `/apis/${API_VERSION}/nodepools`;
const NEXT = 'next: print other fields with -o jsonpath or -o custom-columns';
const tooDeep = (where: string) =>
  `error: cannot print ${where}: objects and lists are nested more than 500 levels deep; ${NEXT}\n`;

async function deepFile(name: string): Promise<string> {
  const extra = `${'{"a":'.repeat(LEVELS)}1${'}'.repeat(LEVELS)}`;
  const file = join(testEnv.cluster().dir, `${name}.json`);
  const head = `"apiVersion":"${API_VERSION}","kind":"NodePool","metadata":{"name":"${name}"}`;
  await writeFile(file, `{${head},"spec":{"labels":{"tier":"x"},"extra":${extra}}}`);
  return file;
}

/** A pool of an earlier CRD. */
async function create(name: string): Promise<void> {
  const api = raw(testEnv.cluster());
  const crd = (await api.expect('GET', CRD)) as { spec: { versions: object[] } };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = crd.spec.versions.map(version => ({ ...version, schema }));
  await api.expect('PATCH', CRD, { spec: { versions } });
  const file = await deepFile(name);
  await eventually('the server preserves unknown fields', async () => {
    const { code, stdout } = await kubectl(testEnv.cluster(), ['create', '--raw', `${POOLS}?dryRun=All`, '-f', file]);
    return code === 0 && stdout.includes('"extra"');
  });
  assert.equal((await kubectl(testEnv.cluster(), ['create', '--raw', POOLS, '-f', file])).code, 0);
}

test('refuses to print deeply nested fields, and names their path', async () => {
  await create('deep');
  await testEnv.nodes({ name: 'a', labels: role('deep') });
  for (const [args, where] of [
    [['get', '-o', 'yaml'], 'spec.extra.a.a of "deep"'],
    [['get', 'deep', '-o', 'json'], 'spec.extra.a.a of "deep"'],
    [['get', '-o', 'jsonpath={..a}'], 'a.a.a.a'],
    [['get', '-o', 'jsonpath-as-json={.items[0].spec.extra}'], '0.a.a.a'],
    [['get', '-o', 'custom-columns=X:.spec'], 'extra.a.a.a'],
    [['edit', 'deep'], 'spec.extra.a.a of "deep"'],
  ] as const) {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual({ args, code, stdout, stderr }, { args, code: 1, stdout: '', stderr: tooDeep(where) });
  }
  const noRevision = 'warning: deep: `rollout undo` will not find this spec: the spec has more than 500 levels\n';
  for (const [args, reported] of [
    [['get', 'deep'], ''],
    [['get', '-o', 'jsonpath={.items[*].metadata.name}'], ''],
    [['describe', 'deep'], ''],
    [['reconcile'], noRevision],
    [['edit', 'deep', '--label', 'tier=y'], ''],
    [['nodes'], ''],
    [['top'], ''],
    [['delete', 'deep', '--yes'], ''],
  ] as const) {
    const { code, stderr } = await run(...args);
    assert.deepEqual({ args, code, stderr }, { args, code: 0, stderr: reported });
  }
});

test('a watch continues after a deeply nested object', async t => {
  await testEnv.nodes({ name: 'a', labels: role('deep') });
  const watch = await startWatching(t, testEnv.cluster());
  await create('deep');
  await eventually('its node is labelled', async () => (await testEnv.node('a')).metadata.labels.tier === 'x');
  await testEnv.edit('deep', { spec: { labels: { tier: 'y' } } });
  await eventually('its node is labelled again', async () => (await testEnv.node('a')).metadata.labels.tier === 'y');
  assert.doesNotMatch(watch.log(), /call stack|error/i);
});

test('create -f accepts at most 100 levels', async () => {
  const file = await deepFile('file');
  const { code, stdout, stderr } = await run('create', '-f', file);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^error: .*file\.json:1:\d+: not valid YAML: nesting exceeded maxDepth \(100\); next: correct the input/,
  );
});
