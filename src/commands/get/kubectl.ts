/** `get` by kubectl, for the formats that this program does not print: Go's templates and KYAML. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import { EXIT } from '../../cli/errors.ts';
import { lookUpProgram } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { endBySignal, onEndingSignal } from '../../cli/signals.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { singleQuoted } from '../../nodepool/text.ts';

/** That kubectl does not have, or that mean nothing here. */
const OURS = ['all-namespaces', 'cached', 'color', 'namespace', 'transient-keys'];

/** The headers of all kinds of programs are longer. */
const HEAD_BYTES = 32;

/**
 * Output and exit code are kubectl's; a signal ends a watch as one of this program. A --token is in the process list
 * already, where the user has put it.
 * @param flags of `get`, as they were parsed
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
  // A terminal's Ctrl-C goes to kubectl, too.
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
      // kubectl says 1 of any signal.
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

/** The first of the PATH that may be executed, except in relative folders, where anybody may have put one. */
async function kubectlIn({ PATH, Path, ...env }: Io['env']): Promise<string> {
  const file = process.platform === 'win32' ? 'kubectl.exe' : 'kubectl';
  const folders = (PATH ?? Path ?? '').split(delimiter).filter(isAbsolute);
  const found = await lookUpProgram(file, { ...env, PATH: folders.join(delimiter) });
  if (!('path' in found)) throw new NoKubectlError('is not in the PATH');
  // Node would run it by a shell.
  if (isText(found.path)) throw new NoKubectlError(`${found.path} is not a program but a text without #!`);
  return found.path;
}

/** Without the zero bytes at the head of a program. */
function isText(path: string): boolean {
  const head = Buffer.alloc(HEAD_BYTES);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const read = head.subarray(0, readSync(descriptor, head));
    return !read.includes(0) && !read.toString('latin1').startsWith('#!');
  } catch {
    // It may be executed and not read.
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** A pipe can be read once, and has been, and kubectl gets no descriptor of this process but the standard ones. */
function refusePipes(kubeconfig: unknown, { KUBECONFIG = '' }: Io['env']): void {
  const files = typeof kubeconfig === 'string' ? [kubeconfig] : KUBECONFIG.split(delimiter);
  const pipe = files.find(
    file => /^\/(dev|proc\/[^/]+)\/fd\//.test(file) || statSync(file, { throwIfNoEntry: false })?.isFIFO() === true,
  );
  if (pipe === undefined) return;
  const message = `kubectl prints this format and reads the kubeconfig again, but ${pipe} can be read only once`;
  throw new NodepoolError('input', message, 'save the kubeconfig to a file and use that file');
}

/** Quotes only what needs it. */
function quoted(word: string): string {
  return /^[\w./:=,@+-]+$/.test(word) ? word : singleQuoted(word);
}
