/** `get` by kubectl, for the formats that this program does not print: Go's templates and KYAML. */
import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { delimiter } from 'node:path';
import { EXIT } from '../../cli/errors.ts';
import type { Io } from '../../cli/io.ts';
import { endBySignal, onEndingSignal } from '../../cli/signals.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { singleQuoted } from '../../nodepool/text.ts';

/** That kubectl does not have, or that mean nothing here. */
const OURS = ['all-namespaces', 'cached', 'color', 'namespace', 'transient-keys'];

/**
 * Output and exit code are kubectl's; a signal ends a watch as one of this program. A --token is in the process list already, where the user has put it.
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
    const outcome = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      child = spawn('kubectl', args, { env: io.env, stdio: 'inherit' });
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
    const reason = code === 'ENOENT' ? 'kubectl is not in the PATH' : `kubectl cannot be started: ${message}`;
    const line = ['kubectl', ...args.map(word => quoted(word.replace(/^--token=.*/s, '--token=TOKEN')))].join(' ');
    throw new NodepoolError('input', `${reason}, which prints this format`, `where it is, type \`${line}\``, {
      cause: error,
    });
  } finally {
    unsubscribe();
  }
}

/** A pipe can be read once, and has been, and kubectl gets no descriptor of this process but the standard ones. */
function refusePipes(kubeconfig: unknown, { KUBECONFIG = '' }: Io['env']): void {
  const files = typeof kubeconfig === 'string' ? [kubeconfig] : KUBECONFIG.split(delimiter);
  const pipe = files.find(
    file =>
      /^\/(dev|proc\/[^/]+)\/fd\//.test(file) || statSync(file, { throwIfNoEntry: false })?.isFIFO() === true,
  );
  if (pipe === undefined) return;
  const message = `kubectl, which prints this format, reads the kubeconfig itself, and cannot read ${pipe} after this program`;
  throw new NodepoolError('input', message, 'write it into a file, and name that');
}

/** Quotes only what needs it. */
function quoted(word: string): string {
  return /^[\w./:=,@+-]+$/.test(word) ? word : singleQuoted(word);
}
