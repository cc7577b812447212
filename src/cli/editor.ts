/** The user's editor on a temporary file. Knows nothing of pools: what the text means is the caller's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodepoolError } from '../nodepool/errors.ts';
import type { EditSession } from '../operations/edit-text.ts';
import { errorLine } from './error-line.ts';
import type { Io } from './io.ts';
import { onEndingSignal } from './signals.ts';

/** For an editor to leave the terminal as it was. */
const LEAVE_MS = 1_000;

/**
 * A new file in a folder of its own, so that what the editor lays beside it is as closed to others; edit() may run
 * several times on it. From the first one until remove(), a signal
 * that ends this process says where the text is.
 */
export function createEditSession({ env, err }: Pick<Io, 'env' | 'err'>): EditSession {
  const folder = join(tmpdir(), `kubectl-nodepool-edit-${randomBytes(6).toString('hex')}`);
  const path = join(folder, 'nodepool.yaml');
  let editor: ChildProcess | undefined;
  let forget: (() => void) | undefined;
  const leave = (signal: NodeJS.Signals) => {
    const end = () => {
      forget?.();
      err(errorLine({ message: `the edit was ended by ${signal}`, next: `find your text in ${path}` }));
      process.kill(process.pid, signal);
    };
    if (editor === undefined) return end();
    // Ctrl-C is the editor's own, and this process must outlive it.
    if (signal === 'SIGINT') return;
    editor.once('exit', end).kill(signal);
    setTimeout(end, LEAVE_MS);
  };
  const cannotWrite = (error: Error) => {
    const next = 'let TMPDIR name a folder that you can write to';
    throw new NodepoolError('input', `cannot write the text to ${path}: ${error.message}`, next, { cause: error });
  };
  return {
    path,
    async edit(text) {
      const isFirst = forget === undefined;
      // A folder that is there already is somebody else's, and an error.
      if (isFirst) await mkdir(folder, { mode: 0o700 }).catch(cannotWrite);
      await writeFile(path, text, { mode: 0o600, flag: isFirst ? 'wx' : 'w' }).catch(cannotWrite);
      forget ??= onEndingSignal(leave);
      await runEditor(editorCommand(env), path, child => {
        editor = child;
      }).finally(() => {
        editor = undefined;
      });
      return readFile(path, 'utf8').catch((error: Error) => {
        throw new NodepoolError('input', `the editor left no file at ${path}`, 'edit again', { cause: error });
      });
    },
    async remove() {
      forget?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The order is kubectl's. */
export function editorCommand(env: Record<string, string | undefined>, platform = process.platform): string {
  return env.KUBE_EDITOR || env.EDITOR || (platform === 'win32' ? 'notepad' : 'vi');
}

/** Through the shell, since the variable may hold arguments (`code --wait`). */
async function runEditor(command: string, path: string, onStart: (child: ChildProcess) => void): Promise<void> {
  const quoted = process.platform === 'win32' ? `"${path}"` : `'${path.replaceAll("'", "'\\''")}'`;
  const outcome = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    const child = spawn(`${command} ${quoted}`, { shell: true, stdio: 'inherit' });
    onStart(child);
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
  if (outcome === 0) return;
  const next = outcome === 127 ? 'set KUBE_EDITOR to an editor that is installed' : undefined;
  throw new NodepoolError('input', `the editor "${command}" ended with ${outcome}; your text is in ${path}`, next);
}
