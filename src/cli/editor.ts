/** The user's editor on a temporary file. Knows nothing of pools: what the text means is the caller's. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodepoolError } from '../nodepool/errors.ts';
import type { EditSession } from '../operations/edit.ts';

/** A new file that only the user can read; edit() may run several times on it. */
export function createEditSession(env: Record<string, string | undefined>): EditSession {
  const path = join(tmpdir(), `kubectl-nodepool-edit-${randomBytes(6).toString('hex')}.yaml`);
  let exists = false;
  return {
    path,
    async edit(text) {
      await writeFile(path, text, { mode: 0o600, flag: exists ? 'w' : 'wx' });
      exists = true;
      await runEditor(editorCommand(env), path);
      return readFile(path, 'utf8').catch((error: Error) => {
        throw new NodepoolError('input', `the editor left no file at ${path}`, 'edit again', { cause: error });
      });
    },
    remove: () => rm(path, { force: true }),
  };
}

/** The order is kubectl's. */
export function editorCommand(env: Record<string, string | undefined>, platform = process.platform): string {
  return env.KUBE_EDITOR || env.EDITOR || (platform === 'win32' ? 'notepad' : 'vi');
}

/** Through the shell, since the variable may hold arguments (`code --wait`). */
async function runEditor(command: string, path: string): Promise<void> {
  const quoted = process.platform === 'win32' ? `"${path}"` : `'${path.replaceAll("'", "'\\''")}'`;
  // Ctrl-C in the editor reaches this process too; it must outlive it.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const outcome = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      const child = spawn(`${command} ${quoted}`, { shell: true, stdio: 'inherit' });
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? signal));
    });
    if (outcome === 0) return;
    const next = outcome === 127 ? 'set KUBE_EDITOR to an editor that is installed' : undefined;
    throw new NodepoolError('input', `the editor "${command}" ended with ${outcome}; your text is in ${path}`, next);
  } finally {
    process.off('SIGINT', ignore);
  }
}
