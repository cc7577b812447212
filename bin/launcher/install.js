/**
 * npm runs this after the installation. It replaces the launchers by the executable, as esbuild does, because starting
 * Node to start a program takes longer than the program. Where that is not possible, they stay.
 */
const { execFileSync } = require('node:child_process');
const { linkSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { version } = require('../../package.json');
const { executablePath, wantsNode } = require('./executable.js');

const NAMES = ['kubectl-nodepool', 'kubectl_complete-nodepool'];
/** The first start may wait for a scanner of viruses. */
const START_MS = 60_000;

const { KUBECTL_NODEPOOL_RUNTIME: runtime = '' } = process.env;
const program = executablePath();
if (runtime !== '' && runtime !== 'node') refuse(runtime);
else if (wantsNode()) leaveToNode();
else if (program !== undefined) install(program);

/** Whoever sets it must not get the executable for want of the right word. */
function refuse(runtime) {
  process.stderr.write(
    `kubectl-nodepool: KUBECTL_NODEPOOL_RUNTIME is ${JSON.stringify(runtime)}, and only node is known: set that, or unset it\n`,
  );
  process.exitCode = 1;
}

function install(program) {
  const problem = problemOf(program);
  if (problem !== undefined) {
    process.stderr.write(`kubectl-nodepool: ${program} does not start, so Node runs the program: ${problem}\n`);
    return leaveToNode();
  }
  // Windows and Yarn start what `bin` names by Node.
  if (process.platform === 'win32' || /\byarn\//.test(process.env.npm_config_user_agent ?? '')) return;
  try {
    for (const name of NAMES) replace(name, path => linkSync(program, path));
  } catch {
    // Without hard links, for example; the launchers work.
  }
}

/** Also when the program starts without the variable. */
function leaveToNode() {
  for (const name of NAMES)
    replace(name, path => writeFileSync(path, `#!/usr/bin/env node\nimport('../${name}.js');\n`, { mode: 0o755 }));
}

/** For example a C++ library that is not there, or a processor that is too old. */
function problemOf(program) {
  try {
    const answer = execFileSync(program, ['version', '--client'], {
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: START_MS,
    });
    return answer === `Client Version: ${version}\n` ? undefined : `it answers ${answer}`;
  } catch (error) {
    return error.message;
  }
}

/** @param make writes the new file at the path */
function replace(name, make) {
  const fresh = join(__dirname, `${name}.${process.pid}`);
  try {
    make(fresh);
    renameSync(fresh, join(__dirname, name));
  } finally {
    // Between two names of one file, rename does nothing.
    rmSync(fresh, { force: true });
  }
}
