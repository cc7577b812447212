/**
 * Writes refreshed tokens to the kubeconfig that they come from. As kubectl, it rewrites the file without its comments.
 */

import { randomUUID } from 'node:crypto';
import { type BigIntStats, closeSync, constants, ftruncateSync, readFileSync, writeFileSync } from 'node:fs';
import { open, realpath, rename, rm } from 'node:fs/promises';
import { dump } from 'js-yaml';
import { sleep, systemClock } from '../../controller/clock.ts';
import { isObject } from '../../nodepool/json.ts';
import { documentsIn } from './kubeconfig-fields.ts';
import { openRegularFile } from './regular-file.ts';

/** kubectl holds the lock during a write. */
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 50;

/**
 * Does nothing if the file no longer has the user. Throws Error, or an error of node:fs; the file is then unchanged.
 * @param config the new config of the user's auth-provider
 */
export async function persistTokens(file: string, user: string, config: Record<string, string>): Promise<void> {
  // Resolved once: a user with write access to the folder could replace the file by a link at any time.
  const target = await realpath(file);
  // The lock of kubectl.
  const lock = `${file}.lock`;
  await take(lock);
  try {
    const { text, stats } = read(target);
    const documents = documentsIn(text);
    const [root] = documents;
    const users = isObject(root) && Array.isArray(root.users) ? root.users.filter(isObject) : [];
    const section = users.find(({ name }) => name === user)?.user;
    const provider = isObject(section) ? section['auth-provider'] : undefined;
    if (!isObject(provider)) return;
    provider.config = config;
    await replace(target, documents.map(document => dump(document, { lineWidth: -1 })).join('---\n'), stats);
  } finally {
    await rm(lock, { force: true });
  }
}

/** Waits for the lock: a refresh-token that can be used once must not be lost. */
async function take(lock: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await (await open(lock, 'wx', 0o600)).close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (tries === LOCK_TRIES)
        throw new Error(`${lock} is there: kubectl writes it, or was killed and left that file`);
    }
    await sleep(systemClock, LOCK_WAIT_MS);
  }
}

interface Original {
  text: string;
  stats: BigIntStats;
}

function read(file: string): Original {
  const { descriptor, stats } = openItself(file, constants.O_RDONLY);
  try {
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Replaces the file atomically, with its owner, group and mode.
 * @param original of the file that was read; it may have been replaced since
 */
async function replace(file: string, text: string, original: BigIntStats): Promise<void> {
  // Unpredictable, and not that of an earlier process with the same id, as 1 in containers.
  const next = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(next, 'wx', 0o600);
    let isSame: boolean;
    try {
      await handle.writeFile(text);
      await handle.sync();
      isSame = await handle.chown(Number(original.uid), Number(original.gid)).then(
        () => true,
        () => false,
      );
      // After chown: the group that it had before must not read it.
      if (isSame) await handle.chmod(Number(original.mode) & 0o777);
    } finally {
      await handle.close();
    }
    if (isSame) return await rename(next, file);
    // The file has another owner, which chown cannot set: overwrite it in place, as kubectl.
    overwrite(file, text, original);
    await rm(next);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

function overwrite(file: string, text: string, original: BigIntStats): void {
  const { descriptor, stats } = openItself(file, constants.O_WRONLY);
  try {
    if (stats.dev !== original.dev || stats.ino !== original.ino) throw replaced(file);
    ftruncateSync(descriptor);
    writeFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** Does not follow links. */
function openItself(file: string, flags: number) {
  try {
    // Windows has no O_NOFOLLOW; links need a privilege there.
    return openRegularFile(file, flags | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? replaced(file) : error;
  }
}

function replaced(file: string): Error {
  return new Error(`${file} was replaced by another file or a link meanwhile`);
}
