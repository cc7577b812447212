/** The launchers of the npm package, with a script in place of the executable. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import pjson from '../../package.json' with { type: 'json' };
import { platformPackage } from '../../scripts/package/npm-manifest.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import { ROOT } from '../../scripts/root.ts';
import { run } from '../cluster/run.ts';
import { temporaryFolder } from './copy.ts';

const folder = await temporaryFolder({ after });
const installed = join(folder, 'node_modules', 'kubectl-nodepool');
const launchers = join(installed, 'bin', 'launcher');
const executable = join(folder, 'node_modules', platformPackage(hostTarget()), 'bin', 'kubectl-nodepool');
const NAMES = Object.keys(pjson.bin);
const SCRIPT = `#!/bin/sh
case "$1" in
  version) echo 'Client Version: ${pjson.version}' ;;
  exit) exit "$2" ;;
  kill) kill -s "$2" $$ ;;
  wait)
    trap 'echo terminated; exit 7' TERM
    trap 'echo interrupted; exit 8' INT
    echo ready
    n=0; while [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.05; done ;;
  *) printf '<%s>' "$@"; cat ;;
esac
`;
const BUNDLE = "process.stdout.write('bundle\\n');\n";

beforeEach(() => {
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
  cpSync(join(ROOT, 'bin', 'launcher'), launchers, { recursive: true });
  for (const name of NAMES) writeFileSync(join(installed, 'bin', `${name}.js`), BUNDLE);
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ type: 'module', version: pjson.version }));
  mkdirSync(dirname(executable), { recursive: true });
  writeFileSync(executable, SCRIPT, { mode: 0o755 });
});

const skip = process.platform === 'win32' && 'Windows starts no scripts';
/** Node that cannot replace itself: older ones, and on Windows. */
const withoutExecve = join(folder, 'without-execve.cjs');
writeFileSync(withoutExecve, 'process.execve = undefined;\n');
/** As Linux without /proc, where the executable aborts. */
const withoutProc = join(folder, 'without-proc.cjs');
writeFileSync(
  withoutProc,
  "const fs = require('node:fs');\nconst { existsSync } = fs;\nfs.existsSync = path => path !== '/proc/self' && existsSync(path);\n",
);

for (const [kind, flags] of [
  ['in its place', []],
  ['as a child', ['--require', withoutExecve]],
] as const)
  describe(`the executable runs ${kind}`, { skip }, () => {
    const commandLine = (...args: string[]) => [...flags, join(launchers, 'kubectl-nodepool'), ...args];

    test('passes on arguments, streams and the exit code', async () => {
      const told = await run(process.execPath, commandLine('a b', '', '$HOME'), { stdin: 'in' });
      assert.deepEqual(told, { code: 0, stdout: '<a b><><$HOME>in', stderr: '' });
      assert.deepEqual(await run(process.execPath, commandLine('exit', '3')), { code: 3, stdout: '', stderr: '' });
      const completion = [...flags, join(launchers, 'kubectl_complete-nodepool'), 'get', ''];
      assert.equal((await run(process.execPath, completion)).stdout, '<__complete><get><>');
    });

    test('passes on signals, and ends as the executable does', async () => {
      for (const [signal, answer] of [
        ['SIGTERM', [7, null, 'ready\nterminated\n']],
        ['SIGINT', [8, null, 'ready\ninterrupted\n']],
      ] as const) {
        const child = spawn(process.execPath, commandLine('wait'), { stdio: ['pipe', 'pipe', 'inherit'] });
        const closed = once(child, 'close');
        let text = '';
        child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
          // Ready for signals.
          if (text === '') child.kill(signal);
          text += chunk;
        });
        assert.deepEqual([...(await closed), text], answer);
      }
      const child = spawn(process.execPath, commandLine('kill', 'TERM'));
      assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM']);
    });

    test('runs the bundle if the user wants it or the executable cannot run', async () => {
      const env = { ...process.env, KUBECTL_NODEPOOL_RUNTIME: 'node' };
      const wanted = await run(process.execPath, commandLine('version'), { env });
      assert.deepEqual(wanted, { code: 0, stdout: 'bundle\n', stderr: '' });
      const noProc = await run(process.execPath, ['--require', withoutProc, ...commandLine('version')]);
      assert.equal(noProc.stdout, process.platform === 'linux' ? 'bundle\n' : `Client Version: ${pjson.version}\n`);
      chmodSync(executable, 0o644);
      const told = await run(process.execPath, commandLine('version'));
      assert.deepEqual(told, { code: 0, stdout: 'bundle\n', stderr: '' });
    });
  });

/** A stand-in for Yarn Plug'n'Play, which keeps each package in a folder of its own. */
const plugAndPlay = join(folder, 'plug-and-play.cjs');
writeFileSync(
  plugAndPlay,
  `require('node:module').findPnpApi = () => ({ resolveToUnqualified: file => ${JSON.stringify(join(folder, 'unplugged'))} + '/' + file });\n`,
);
const program = join(platformPackage(hostTarget()), 'bin', 'kubectl-nodepool');

test('the executable is found where npm --global, pnpm and Yarn put it', { skip }, async () => {
  rmSync(executable);
  const store = join(folder, 'node_modules', '.pnpm', 'kubectl-nodepool@1', 'node_modules');
  cpSync(installed, join(store, 'kubectl-nodepool'), { recursive: true });
  for (const [place, start, ...flags] of [
    [join(installed, 'node_modules'), launchers],
    [join(folder, 'unplugged'), launchers, '--require', plugAndPlay],
    [store, join(folder, 'linked', 'bin', 'launcher')],
  ] as const) {
    mkdirSync(dirname(join(place, program)), { recursive: true });
    writeFileSync(join(place, program), SCRIPT, { mode: 0o755 });
    if (place === store) symlinkSync(join(store, 'kubectl-nodepool'), join(folder, 'linked'));
    const { stdout } = await run(process.execPath, [...flags, join(start, 'kubectl-nodepool'), 'found']);
    assert.equal(stdout, '<found>', place);
    rmSync(join(place, program));
  }
});

test('runs no executable of a parent folder or of NODE_PATH', { skip }, async () => {
  const env = { ...process.env, NODE_PATH: join(folder, 'node_modules') };
  // Not in node_modules, the folder beside is anybody's.
  cpSync(executable, join(folder, 'unpacked', program), { recursive: true });
  for (const place of ['project/node_modules', 'unpacked']) {
    const copy = join(folder, place, 'kubectl-nodepool');
    cpSync(installed, copy, { recursive: true });
    const files = () => NAMES.map(name => readFileSync(join(copy, 'bin', 'launcher', name), 'utf8'));
    const before = files();
    const told = await run(process.execPath, [join(copy, 'bin', 'launcher', 'kubectl-nodepool')], { env });
    assert.deepEqual(told, { code: 0, stdout: 'bundle\n', stderr: '' }, place);
    const installing = await run(process.execPath, [join(copy, 'bin', 'launcher', 'install.js')], { env });
    assert.deepEqual(installing, { code: 0, stdout: '', stderr: '' }, place);
    assert.deepEqual(files(), before, place);
  }
});

describe('the install script', { skip }, () => {
  const install = (env: Record<string, string> = {}) =>
    run(process.execPath, [join(launchers, 'install.js')], { env: { PATH: process.env.PATH, ...env } });
  const isExecutable = (name: string) => statSync(join(launchers, name)).ino === statSync(executable).ino;
  const silent = { code: 0, stdout: '', stderr: '' };

  test('replaces the launchers by the executable, and leaves no other files', async () => {
    const files = readdirSync(launchers);
    for (let times = 0; times < 2; times++) {
      assert.deepEqual(await install(), silent);
      assert.deepEqual(NAMES.filter(isExecutable), NAMES);
      assert.deepEqual(readdirSync(launchers), files);
    }
  });

  test('keeps the launchers for Yarn, which starts them with Node', async () => {
    assert.deepEqual(await install({ npm_config_user_agent: 'yarn/4.0.0 npm/? node/v26.0.0 linux x64' }), silent);
    assert.deepEqual(NAMES.filter(isExecutable), []);
  });

  test('explains why the executable does not start, and keeps the bundle', async () => {
    for (const [script, why] of [
      ['#!/bin/sh\necho no libstdc++ >&2\nexit 127\n', /does not start, .*no libstdc\+\+/s],
      ["#!/bin/sh\necho 'Client Version: 0.0.1'\n", /it answers Client Version: 0\.0\.1/],
    ] as const) {
      writeFileSync(executable, script);
      const { code, stderr } = await install();
      assert.equal(code, 0);
      assert.match(stderr, why);
      for (const name of NAMES) {
        assert.match(readFileSync(join(launchers, name), 'utf8'), /^#!\/usr\/bin\/env node\n/);
        assert.equal((await run(process.execPath, [join(launchers, name)])).stdout, 'bundle\n');
      }
    }
  });

  test('restores the bundle if the user sets KUBECTL_NODEPOOL_RUNTIME=node', async () => {
    assert.deepEqual(await install(), silent);
    assert.deepEqual(await install({ KUBECTL_NODEPOOL_RUNTIME: 'node' }), silent);
    for (const name of NAMES) assert.equal((await run(process.execPath, [join(launchers, name)])).stdout, 'bundle\n');
  });

  test('refuses another runtime, and changes nothing', async () => {
    for (const runtime of ['Node', 'NODE', 'node ', 'bundle', '1']) {
      const stderr = `kubectl-nodepool: KUBECTL_NODEPOOL_RUNTIME is "${runtime}", and only node is known: set that, or unset it\n`;
      assert.deepEqual(await install({ KUBECTL_NODEPOOL_RUNTIME: runtime }), { code: 1, stdout: '', stderr });
      assert.match(readFileSync(join(launchers, 'kubectl-nodepool'), 'utf8'), /launch\.js/);
    }
    assert.deepEqual(await install({ KUBECTL_NODEPOOL_RUNTIME: '' }), silent);
    assert.deepEqual(NAMES.filter(isExecutable), NAMES);
  });

  test('does nothing without an executable', async () => {
    rmSync(dirname(executable), { recursive: true });
    assert.deepEqual(await install(), silent);
    assert.equal((await run(process.execPath, [join(launchers, 'kubectl-nodepool')])).stdout, 'bundle\n');
  });
});
