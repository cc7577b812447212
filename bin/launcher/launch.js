/**
 * Runs the executable, or without one the bundle on this Node. Only used where install.js could not replace its caller:
 * on Windows, by Yarn, or where install scripts are not run.
 */
const { spawn } = require('node:child_process');
const { accessSync, constants } = require('node:fs');
const { executablePath, wantsNode } = require('./executable.js');

/**
 * @param name of the caller, as in bin/
 * @param first arguments that the executable gets before those of this process
 */
exports.launch = (name, first) => {
  const bundle = () => import(`../${name}.js`);
  const program = wantsNode() ? undefined : executablePath();
  if (program === undefined || !canRun(program)) return bundle();
  const args = [...first, ...process.argv.slice(2)];
  if (process.execve === undefined || process.platform === 'win32') return runBeside(program, args, bundle);
  process.execve(program, [program, ...args]);
};

/** A failed execve ends Node. */
function canRun(program) {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** As a child process, which this one ends with. */
function runBeside(program, args, bundle) {
  let child;
  const pass = signal => {
    // The terminal sends Ctrl-C to both.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  // Before it starts: a signal that came between would end this process alone.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, pass);
  const release = () => {
    for (const signal of signals) process.off(signal, pass);
  };
  child = spawn(program, args, { stdio: 'inherit' });
  child.on('error', () => {
    // It has started: a signal could not be passed on.
    if (child.pid !== undefined) return undefined;
    release();
    return bundle();
  });
  child.once('exit', (code, signal) => {
    release();
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}
