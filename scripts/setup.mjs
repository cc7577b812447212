/**
 * Runs every npm script: installs the packages if they are missing or outdated, then runs on the project's own Node,
 * whichever Node started this. It needs only Node 20 and npm.
 *
 *   node scripts/setup.mjs [SCRIPT [ARGS…]]
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const TICK_MS = 1000;
/** Said before the packages are installed, as that is before the script can say anything. */
const FIRST_TIME = {
  'scripts/demo.ts': 'The first time, the demo takes 5 to 12 minutes; later half a minute.\n',
  'scripts/test.ts': 'The first time, programs that the tests need are built; later they are in the cache.\n',
};
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const isWindows = process.platform === 'win32';
// On Windows, node_modules/.bin has scripts of the shell.
const node = join(root, 'node_modules', 'node', 'bin', isWindows ? 'node.exe' : 'node');

const [script, ...rest] = process.argv.slice(2);
if (!isInstalled()) {
  process.stderr.write(FIRST_TIME[script] ?? '');
  await install();
}
if (script !== undefined) run(node, [resolve(root, script), ...rest]);

/** Whether node_modules has what package-lock.json asks for, by npm's own record. */
function isInstalled() {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(node) || !existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    // An optional package may be for another platform.
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
}

async function install() {
  const start = performance.now();
  const seconds = () => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  const { isTTY } = process.stderr;
  const clear = isTTY ? '\r\u001b[2K' : '';
  process.stderr.write(`installing the npm packages …${isTTY ? '' : '\n'}`);
  const ticker = isTTY
    ? setInterval(() => process.stderr.write(`${clear}installing the npm packages … ${seconds()}`), TICK_MS)
    : undefined;
  // npm's warnings, such as those about the host's Node, are shown only if it fails.
  let output = '';
  const npm = args =>
    new Promise(done => {
      const child = spawn('npm', args, {
        cwd: root,
        // npm is a script of the shell there.
        shell: isWindows,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', text => {
          output += text;
        });
      }
      child.on('error', error => {
        output += error.message;
        done(127);
      });
      child.on('close', done);
    });
  // Older npm runs every install script, whatever allowScripts names and strict-allow-scripts says.
  const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const code =
    (await npm(['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund'])) ||
    (await npm(['rebuild', ...Object.keys(allowScripts).filter(name => allowScripts[name])]));
  clearInterval(ticker);
  const installed = code === 0 && existsSync(node);
  process.stderr.write(`${clear}installing the npm packages: ${installed ? 'done' : 'failed'}, ${seconds()}\n`);
  if (installed) return;
  process.stderr.write(`${output.trimEnd()}\n`);
  if (code === 0)
    process.stderr.write('npm did not run the install script of the package `node`: see ignore-scripts of your npm\n');
  process.exit(1);
}

/** Runs a program with inherited streams, forwards signals, and exits as it does. */
function run(path, args) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` };
  const child = spawn(path, args, { stdio: 'inherit', env });
  child.on('error', error => {
    process.stderr.write(`${path}: ${error.message}\n`);
    process.exitCode = 127;
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // The terminal sends Ctrl-C to the child too; a second signal would abort its clean-up.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
