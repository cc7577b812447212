/** Runs the user's editor on a temporary file. Knows nothing of pools. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorLine } from '../../cli/error-line.ts';
import type { Io } from '../../cli/io.ts';
import { onEndingSignal } from '../../cli/signals.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { EditSession } from './edit-text.ts';

/** Time for an editor to restore the terminal. */
const LEAVE_MS = 1_000;

/**
 * A new file in a private folder, which also protects the editor's swap and backup files; edit() may run several times on
 * it. From the first edit() until remove(), a signal that ends this process prints where the text is.
 */
export function createEditSession({ env, err }: Pick<Io, 'env' | 'err'>): EditSession {
  const folder = join(tmpdir(), `kubectl-nodepool-edit-${randomBytes(6).toString('hex')}`);
  const path = join(folder, 'nodepool.yaml');
  let editor: ChildProcess | undefined;
  let unsubscribe: (() => void) | undefined;
  const leave = (signal: NodeJS.Signals) => {
    const end = () => {
      unsubscribe?.();
      err(errorLine({ message: `the edit was ended by ${signal}`, next: `find your text in ${path}` }));
      process.kill(process.pid, signal);
    };
    if (editor === undefined) return end();
    // The editor handles Ctrl-C, and this process must outlive it.
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
      const isFirst = unsubscribe === undefined;
      // An existing folder belongs to somebody else: mkdir fails on it.
      if (isFirst) await mkdir(folder, { mode: 0o700 }).catch(cannotWrite);
      await writeFile(path, text, { mode: 0o600, flag: isFirst ? 'wx' : 'w' }).catch(cannotWrite);
      unsubscribe ??= onEndingSignal(leave);
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
      unsubscribe?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** In kubectl's order. */
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
