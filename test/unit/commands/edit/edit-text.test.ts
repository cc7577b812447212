import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { createEditSession, editorCommand } from '../../../../src/commands/edit/edit-text.ts';

describe('the editor', () => {
  const cases: [env: Record<string, string>, platform: NodeJS.Platform, expected: string][] = [
    [{ KUBE_EDITOR: 'code --wait', EDITOR: 'nano' }, 'linux', 'code --wait'],
    [{ EDITOR: 'nano' }, 'linux', 'nano'],
    [{ KUBE_EDITOR: '', EDITOR: '' }, 'darwin', 'vi'],
    [{}, 'win32', 'notepad'],
  ];
  for (const [env, platform, expected] of cases) {
    test(`${JSON.stringify(env)} on ${platform}`, () => assert.equal(editorCommand(env, platform), expected));
  }
});

describe('an edit session', () => {
  test('runs a command with arguments on a temporary file, twice, and deletes the file', async t => {
    const dir = mkdtempSync(join(tmpdir(), 'nodepool-editor-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const script = join(dir, 'my editor.mjs');
    writeFileSync(
      script,
      "import { appendFileSync } from 'node:fs';\nappendFileSync(process.argv[3], process.argv[2]);\n",
    );
    const session = createEditSession({
      env: { KUBE_EDITOR: `"${process.execPath}" "${script}" added` },
      err: assert.fail,
    });
    const folder = dirname(session.path);
    assert.match(basename(folder), /^kubectl-nodepool-edit-[0-9a-f]{12}$/);
    assert.equal(await session.edit('one '), 'one added');
    assert.equal(statSync(session.path).mode & 0o777, 0o600);
    // Nobody else can read or create a backup file that an editor writes beside it.
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(await session.edit('two '), 'two added');
    await session.remove();
    assert.equal(existsSync(folder), false);
  });

  test('does not write to a file that another user created first', async t => {
    const session = createEditSession({ env: { EDITOR: 'true' }, err: assert.fail });
    const folder = dirname(session.path);
    mkdirSync(folder, { mode: 0o777 });
    t.after(() => rmSync(folder, { recursive: true }));
    await assert.rejects(session.edit('secret'), {
      message: `cannot write the text to ${session.path}: EEXIST: file already exists, mkdir '${folder}'`,
    });
    assert.equal(existsSync(session.path), false);
  });

  test('keeps the text when the editor fails, and prints its path', async () => {
    const session = createEditSession({ env: { EDITOR: 'exit 3 #' }, err: assert.fail });
    await assert.rejects(session.edit('precious'), {
      kind: 'input',
      message: `the editor "exit 3 #" exited with 3; your text is in ${session.path}`,
    });
    assert.equal(readFileSync(session.path, 'utf8'), 'precious');
    await session.remove();
  });

  test('names the variable to set when the editor does not exist', async () => {
    const session = createEditSession({ env: { EDITOR: 'no-such-editor 2>/dev/null' }, err: assert.fail });
    await assert.rejects(session.edit(''), { next: 'set KUBE_EDITOR to an editor that is installed' });
    await session.remove();
  });
});

describe('a signal that ends the process', {
  skip: process.platform === 'win32' && 'Windows cannot catch these signals',
}, () => {
  const module = JSON.stringify(new URL('../../../../src/commands/edit/edit-text.ts', import.meta.url).href);
  const cases: [when: string, editor: string, signal: NodeJS.Signals][] = [
    ['while the editor is open', 'printf precious >"$0"; kill -s TERM $PPID; exec sleep 20', 'SIGTERM'],
    ['of a terminal that is gone', 'printf precious >"$0"; kill -s HUP $PPID; exec sleep 20', 'SIGHUP'],
    ['while the edit is written', 'printf precious >"$0"', 'SIGTERM'],
    ['and Ctrl-C then', 'printf precious >"$0"', 'SIGINT'],
    ['but not one of the editor', 'printf precious >"$0"; kill -s INT $PPID; sleep 0.2', 'SIGHUP'],
  ];
  for (const [when, editor, signal] of cases) {
    test(`${when}: keeps the text and prints its path (${signal})`, () => {
      const code = `
        const { createEditSession } = await import(${module});
        const session = createEditSession({ env: process.env, err: text => process.stderr.write(text + '\\n') });
        await session.edit('');
        process.kill(process.pid, '${signal}');
        setTimeout(() => {}, 20_000);`;
      // The editor's shell gets the signals and has no child of its own.
      const { EDITOR: _mine, ...rest } = process.env;
      const env = { ...rest, KUBE_EDITOR: `exec sh -c '${editor}'` };
      const started = performance.now();
      const run = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
        env,
        encoding: 'utf8',
        timeout: 30_000,
      });
      const path = / in (\S+)\n$/.exec(run.stderr)?.[1] ?? '';
      assert.deepEqual(
        [run.signal, run.stderr],
        [signal, `error: ${signal} ended the editor; next: find your text in ${path}\n`],
      );
      assert.equal(readFileSync(path, 'utf8'), 'precious');
      rmSync(dirname(path), { recursive: true });
      assert.ok(performance.now() - started < 15_000, 'it waited for the editor');
    });
  }
});
