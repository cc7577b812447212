/** `edit NAME` with an editor; by flags: command-edit-flags.test.ts. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import type { RunResult } from '../cluster/run.ts';
import { commandsOf, scriptedEditor, stateOf } from './commands.ts';
import { useTestEnv } from './test-env.ts';

const HEAD = `# Edit the pool below. Lines beginning with a '#' are ignored. An empty file, or a file without changes, cancels the edit.
# If an error occurs while saving, this file is reopened with the error at the top.
#
`;
const BODY = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: gpu
spec:
  labels:
    tier: gold
`;
const EDITED = { code: 0, stdout: 'nodepool.nodes.lailin.xyz/gpu edited\n', stderr: '' };

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused } = commandsOf(cluster);

let sessions = 0;

/** Edits pool gpu; returns the result, and the file as the editor saw it each time. */
async function edit(...steps: string[]): Promise<RunResult & { seen: string[] }> {
  const editor = await scriptedEditor(cluster(), String(sessions++), ...steps);
  const result = await cli(cluster(), ['edit', 'gpu'], { env: { KUBE_EDITOR: editor, EDITOR: 'false' } });
  const seen: string[] = [];
  while (existsSync(`${editor}.${seen.length + 1}`)) seen.push(await readFile(`${editor}.${seen.length + 1}`, 'utf8'));
  return { ...result, seen };
}

/** Checks that the error names a file of mode 0600 that keeps this text, and removes it. */
async function keeps({ code, stdout, stderr }: RunResult, reason: string, text: RegExp): Promise<void> {
  const path = / in (\S+\.yaml)\n$/.exec(stderr)?.[1] ?? '';
  assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: `error: ${reason} in ${path}\n` });
  assert.match(await readFile(path, 'utf8'), text);
  await rm(path);
}

const labelsOf = async () => (await testEnv.getPool('gpu'))?.spec.labels;

test('saves a valid edit, run through kubectl', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const editor = await scriptedEditor(cluster(), 'valid', 'sed -i s/gold/silver/ "$f"');
  const result = await kubectl(cluster(), ['nodepool', 'edit', 'gpu'], { env: { KUBE_EDITOR: editor } });
  assert.deepEqual(result, EDITED);
  assert.equal(await readFile(`${editor}.1`, 'utf8'), HEAD + BODY);
  assert.deepEqual(await labelsOf(), { tier: 'silver' });
});

test('writes nothing and leaves no file when the text is unchanged or empty', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const before = await stateOf(cluster());
  const cases = [
    ['true', 'no changes made'],
    ['echo "# a comment" >> "$f"; sed -i "s/gold/\\"gold\\"/" "$f"', 'no changes made'],
    [': > "$f"', 'the saved file was empty'],
    ['sed -i s/^[^#].*// "$f"', 'the saved file was empty'],
  ] as const;
  for (const [step, why] of cases) {
    const { code, stdout, stderr, seen } = await edit(`echo "$f" > "$0.path"; ${step}`);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: `Edit cancelled: ${why}.\n` }, step);
    assert.equal(seen.length, 1);
    const path = (await readFile(`${cluster().dir}/editor-${sessions - 1}.path`, 'utf8')).trim();
    assert.equal(existsSync(path), false, path);
  }
  assert.deepEqual(await stateOf(cluster()), before);
});

test('reopens an invalid edit with the reason on top until it is valid', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const { seen, ...result } = await edit(
    'sed -i "s/gold/a b/" "$f"',
    'sed -i "s/labels:/lables:/" "$f"',
    'sed -i "s/lables:/labels:/; s/a b/a: b/" "$f"',
    'sed -i "s/a: b/silver/" "$f"',
  );
  assert.deepEqual(result, EDITED);
  assert.deepEqual(await labelsOf(), { tier: 'silver' });
  const reasons = seen.map(text => text.split('\n').filter(line => /^# (error|next): /.test(line)));
  assert.deepEqual(reasons[0], []);
  assert.match(reasons[1]?.join('\n') ?? '', /^# error: pool gpu: spec\.labels\[tier\]: .*"a b"/);
  assert.deepEqual(reasons[2], [
    '# error: edit:12: spec.lables: unknown field',
    '# next: use spec.labels, or remove the field',
  ]);
  // Line numbers are those of the file in the editor, whose header may have a line with the next step.
  assert.equal(seen[2]?.split('\n').indexOf('apiVersion: nodes.lailin.xyz/v1'), 7 - 1);
  const line = Number(/^# error: edit:(\d+):\d+: not valid YAML: /.exec(reasons[3]?.join() ?? '')?.[1]);
  assert.match(seen[3]?.split('\n')[line - 1] ?? '', /tier: a: b/);
  assert.equal(seen[1], `${seen[1]?.slice(0, seen[1].indexOf('apiVersion'))}${BODY.replace('gold', 'a b')}`);
});

test('keeps the text of an invalid edit in a file when the user gives up', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const renamed = await edit('sed -i "s/name: gpu/name: other/" "$f"', 'true');
  const reason = 'no valid changes were saved: metadata.name: "other" is a different pool; next: find your text';
  await keeps(
    renamed,
    reason,
    /# error: metadata.name: "other" is a different pool\n# next: a pool cannot be renamed\n[\s\S]*name: other/,
  );
  const failed = await edit('sed -i s/gold/mine/ "$f"; exit 3');
  const editor = `${cluster().dir}/editor-${sessions - 1}`;
  await keeps(failed, `the editor "${editor}" exited with 3; your text is`, /tier: mine/);
  assert.deepEqual(await labelsOf(), { tier: 'gold' });
});

test('reopens an edit that the server refuses', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  // The product accepts finalizers that the server refuses.
  const { seen, code } = await edit('sed -i "s/  name: gpu/  name: gpu\\n  finalizers: [a b]/" "$f"', ': > "$f"');
  assert.equal(code, 0);
  assert.match(seen[1] ?? '', /^# error: cannot patch NodePool "gpu": invalid: metadata\.finalizers/m);
});

test('reopens the edit when somebody else changed the same field meanwhile', async () => {
  const { kubectl: path } = await ensureBinaries(['kubectl']);
  const pool = await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const theirs = `'${path}' patch nodepool gpu --type=merge -p '{"spec":{"labels":{"tier":"theirs","more":"theirs"}}}' > /dev/null`;
  const changed = await edit(`${theirs}; sed -i s/gold/mine/ "$f"`);
  const reason = 'somebody else changed pool gpu during the edit: spec.labels[tier] is now "theirs"';
  await keeps(changed, `no valid changes were saved: ${reason}; next: find your text`, /more: theirs\n {4}tier: mine/);
  assert.deepEqual(await labelsOf(), { tier: 'theirs', more: 'theirs' });
  const back = `'${path}' patch nodepool gpu --type=merge -p '{"spec":{"labels":{"tier":"again"}}}' > /dev/null`;
  const { seen, ...result } = await edit(`${back}; sed -i s/tier:.*/tier:\\ mine/ "$f"`, 'echo >> "$f"');
  assert.match(seen[1] ?? '', /^# error: .*: spec\.labels\[tier\] is now "again"\n# next: to save your value/m);
  assert.deepEqual(result, EDITED);
  assert.deepEqual(await labelsOf(), { tier: 'mine', more: 'theirs' });
  const gone = await edit(`'${path}' delete nodepool ${pool.metadata.name} > /dev/null; sed -i s/mine/yours/ "$f"`);
  const deleted = 'nothing was overwritten: pool gpu was deleted while it was being edited; next: find your text';
  await keeps(gone, deleted, /tier: yours/);
  assert.equal(await testEnv.getPool('gpu'), undefined);
});

test('saves the edit when somebody else changed other fields meanwhile', async () => {
  const { kubectl: path } = await ensureBinaries(['kubectl']);
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const status = `'${path}' patch nodepool gpu --subresource=status --type=merge -p '{"status":{"status":200,"nodeCount":0}}' > /dev/null`;
  const finalizer = `'${path}' patch nodepool gpu --type=merge -p '{"metadata":{"finalizers":["example.com/x"]}}' > /dev/null`;
  const label = `'${path}' label nodepool gpu col=1 > /dev/null`;
  const handler = `'${path}' patch nodepool gpu --type=merge -p '{"spec":{"handler":"h","labels":{"more":"x"}}}' > /dev/null`;
  const { code } = await edit(`${status}; ${finalizer}; ${label}; ${handler}; sed -i s/gold/mine/ "$f"`);
  assert.equal(code, 0);
  assert.deepEqual(await labelsOf(), { tier: 'mine', more: 'x' });
  assert.deepEqual((await testEnv.getPool('gpu'))?.metadata.labels, { col: '1' });
  assert.deepEqual((await testEnv.getPool('gpu'))?.metadata.finalizers, ['example.com/x']);
});

test('refuses an edit of finalizers that somebody else changed meanwhile', async () => {
  const { kubectl: path } = await ensureBinaries(['kubectl']);
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const theirs = `'${path}' patch nodepool gpu --type=merge -p '{"metadata":{"finalizers":["example.com/theirs"]}}' > /dev/null`;
  const edited = await edit(`${theirs}; sed -i 's#^metadata:#metadata:\\n  finalizers: [example.com/mine]#' "$f"`);
  const reason =
    'somebody else changed pool gpu during the edit: metadata.finalizers is now ["example.com/theirs"]; next: find your text';
  await keeps(edited, `no valid changes were saved: ${reason}`, /example.com\/mine/);
  assert.deepEqual((await testEnv.getPool('gpu'))?.metadata.finalizers, ['example.com/theirs']);
});

test('reports an editor that removed the file as a user error', async () => {
  await testEnv.pool('gpu');
  const { code, stderr } = await cli(cluster(), ['edit', 'gpu'], { env: { EDITOR: 'rm' } });
  assert.equal(code, 1);
  assert.match(stderr, /^error: the editor left no file at .*; next: edit again\n$/);
});

test('opens no editor for a pool that does not exist', async () => {
  const missing = 'error: nodepool "gpu" not found; next: list the pools with `kubectl nodepool get`';
  await refused(['edit', 'gpu'], 1, missing, { env: { KUBE_EDITOR: 'false' } });
  await testEnv.pool('gpu');
  const { code, stderr } = await cli(cluster(), ['edit', 'gpu'], { env: { EDITOR: 'no-such-editor --wait' } });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /the editor "no-such-editor --wait" exited with 127; .* next: set KUBE_EDITOR to an editor that is installed$/m,
  );
  await rm(/your text is in (\S+\.yaml)/.exec(stderr)?.[1] ?? '');
});
