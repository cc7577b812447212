/** Runs kubectl for formats of `get` that this program does not print: Go templates and KYAML. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import { EXIT } from '../../cli/errors.ts';
import { lookUpProgram } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { endBySignal, onEndingSignal } from '../../cli/signals.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { singleQuoted } from '../../nodepool/text.ts';

/** Flags that kubectl does not have, or that have no meaning here. */
const OURS = ['all-namespaces', 'cached', 'color', 'namespace', 'transient-keys'];

/** The magic numbers and headers of all executables are longer. */
const HEAD_BYTES = 32;

/**
 * Output and exit code come from kubectl; a signal ends a watch as it does for our own. A --token is passed in the
 * arguments, where the user put it already.
 * @param flags of `get`, as parsed
 */
export async function getByKubectl(names: readonly string[], flags: Record<string, unknown>, io: Io): Promise<number> {
  const given = Object.entries(flags).flatMap(([name, value]) => {
    if (OURS.includes(name) || value === undefined || value === false || value === 0) return [];
    const flag = name === 'verbosity' ? '--v' : `--${name}`;
    return value === true ? [flag] : [value].flat().map(each => `${flag}=${each}`);
  });
  const args = ['get', 'nodepools.nodes.lailin.xyz', ...given, ...(names.length > 0 ? ['--', ...names] : [])];
  refusePipes(flags.kubeconfig, io.env);
  let child: ChildProcess | undefined;
  let stopped: NodeJS.Signals | undefined;
  // A terminal also sends Ctrl-C to kubectl.
  const unsubscribe = onEndingSignal(signal => {
    stopped = signal;
    child?.kill(signal);
  });
  try {
    const program = await kubectlIn(io.env);
    const outcome = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      child = spawn(program, args, { env: io.env, stdio: 'inherit' });
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? signal));
    });
    if (stopped !== undefined && (flags.watch === true || flags['watch-only'] === true)) {
      // kubectl returns 1 for any signal.
      if (stopped !== 'SIGTERM') endBySignal(stopped);
      return stopped === 'SIGTERM' ? EXIT.done : EXIT.interrupted;
    }
    if (typeof outcome === 'number') return outcome;
    if (outcome !== null) endBySignal(outcome);
    return EXIT.error;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOEXEC' ? 'not a program of this system' : message;
    const reason = error instanceof NoKubectlError ? message : `cannot be started: ${why}`;
    const line = ['kubectl', ...args.map(word => quoted(word.replace(/^--token=.*/s, '--token=TOKEN')))].join(' ');
    throw new NodepoolError(
      'input',
      `kubectl prints this format, but ${reason}`,
      `on a machine with kubectl, run \`${line}\``,
      {
        cause: error,
      },
    );
  } finally {
    unsubscribe();
  }
}

class NoKubectlError extends Error {}

/** The first executable in PATH. Skips relative folders, where anyone may have placed one. */
async function kubectlIn({ PATH, Path, ...env }: Io['env']): Promise<string> {
  const file = process.platform === 'win32' ? 'kubectl.exe' : 'kubectl';
  const folders = (PATH ?? Path ?? '').split(delimiter).filter(isAbsolute);
  const found = await lookUpProgram(file, { ...env, PATH: folders.join(delimiter) });
  if (!('path' in found)) throw new NoKubectlError('is not in the PATH');
  // Node would run it in a shell.
  if (isText(found.path)) throw new NoKubectlError(`${found.path} is not a program but a text without #!`);
  return found.path;
}

/** Executables have zero bytes in their header. */
function isText(path: string): boolean {
  const head = Buffer.alloc(HEAD_BYTES);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const read = head.subarray(0, readSync(descriptor, head));
    return !read.includes(0) && !read.toString('latin1').startsWith('#!');
  } catch {
    // The file may be executable but not readable.
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** A pipe can be read only once, which has happened, and kubectl inherits only the standard descriptors. */
function refusePipes(kubeconfig: unknown, { KUBECONFIG = '' }: Io['env']): void {
  const files = typeof kubeconfig === 'string' ? [kubeconfig] : KUBECONFIG.split(delimiter);
  const pipe = files.find(
    file => /^\/(dev|proc\/[^/]+)\/fd\//.test(file) || statSync(file, { throwIfNoEntry: false })?.isFIFO() === true,
  );
  if (pipe === undefined) return;
  const message = `kubectl prints this format and reads the kubeconfig again, but ${pipe} can be read only once`;
  throw new NodepoolError('input', message, 'save the kubeconfig to a file and use that file');
}

/** Quotes the word only if necessary. */
function quoted(word: string): string {
  return /^[\w./:=,@+-]+$/.test(word) ? word : singleQuoted(word);
}
