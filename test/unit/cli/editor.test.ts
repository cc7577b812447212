import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { createEditSession, editorCommand } from '../../../src/cli/editor.ts';

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
  test('runs a command with arguments on a file of its own, twice, and takes it away', async t => {
    const dir = mkdtempSync(join(tmpdir(), 'nodepool-editor-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const script = join(dir, 'my editor.mjs');
    writeFileSync(
      script,
      "import { appendFileSync } from 'node:fs';\nappendFileSync(process.argv[3], process.argv[2]);\n",
    );
    const session = createEditSession({ KUBE_EDITOR: `"${process.execPath}" "${script}" added` });
    assert.match(basename(session.path), /^kubectl-nodepool-edit-[0-9a-f]{12}\.yaml$/);
    assert.equal(await session.edit('one '), 'one added');
    assert.equal(statSync(session.path).mode & 0o777, 0o600);
    assert.equal(await session.edit('two '), 'two added');
    await session.remove();
    assert.equal(existsSync(session.path), false);
  });

  test('an editor that fails leaves the text and says where', async () => {
    const session = createEditSession({ EDITOR: 'exit 3 #' });
    await assert.rejects(session.edit('precious'), {
      kind: 'input',
      message: `the editor "exit 3 #" ended with 3; your text is in ${session.path}`,
    });
    assert.equal(readFileSync(session.path, 'utf8'), 'precious');
    await session.remove();
  });

  test('an editor that is not there says what to set', async () => {
    const session = createEditSession({ EDITOR: 'no-such-editor 2>/dev/null' });
    await assert.rejects(session.edit(''), { next: 'set KUBE_EDITOR to an editor that is installed' });
    await session.remove();
  });
});
