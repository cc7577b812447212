/** `view` in tmux, another terminal than the emulator of terminal.ts: the screens are the same. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { createSmallCluster } from './small-cluster.ts';
import { assertScreen } from './terminal.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const TMUX = '/usr/bin/tmux';
const skip = existsSync(TMUX) ? false : 'needs tmux';

const testEnv = useTestEnv();
const { cluster } = testEnv;

test('shows pools and help, follows resizes, and restores the shell', { skip }, async t => {
  await createSmallCluster(testEnv);
  const { dir, kubeconfig } = cluster();
  const env = { PATH: process.env.PATH, HOME: dir, KUBECONFIG: kubeconfig, NO_COLOR: '1', LANG: 'C.UTF-8' };
  const tmux = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(TMUX, ['-u', '-S', join(dir, 'tmux'), '-f', '/dev/null', ...args], {
      env,
    });
    assert.equal(code, 0, `tmux ${args.join(' ')}: ${stderr}`);
    return stdout.trimEnd();
  };
  const shows = async (what: RegExp) => {
    let screen = '';
    await eventually(`tmux shows ${what}`, async () => {
      screen = await tmux('capture-pane', '-p');
      return what.test(screen);
    }).catch((error: Error) => {
      throw new Error(`${error.message}\n${screen}`, { cause: error });
    });
    return screen;
  };
  const command = [...productCommand(), 'view'].map(word => `'${word}'`).join(' ');
  await tmux('new-session', '-d', '-x', '80', '-y', '24', `${command}; echo over; cat`);
  t.after(() => tmux('kill-server'));
  await tmux('set-option', '-g', 'status', 'off');
  await tmux('resize-window', '-x', '80', '-y', '24');
  assertScreen('pools', await shows(/^>gpu .*\n[\s\S]*q quit/m));
  await tmux('resize-window', '-x', '60', '-y', '15');
  assertScreen('pools-60x15', await shows(/GPUS$[\s\S]*^>gpu [\s\S]*filter$/m));
  await tmux('send-keys', '?');
  await tmux('resize-window', '-x', '60', '-y', '12');
  assertScreen('help-60x12', await shows(/^Help \(lines 1-7 [\s\S]*scroll$/m));
  await tmux('send-keys', 'Escape');
  await shows(/^>gpu /m);
  await tmux('send-keys', 'q');
  const left = await shows(/^over$/m);
  assert.doesNotMatch(left, /gpu/);
});
