/** Writes renewed tokens back to the kubeconfig they come from, as kubectl does: the whole file anew, so comments go. */

import { randomUUID } from 'node:crypto';
import { type BigIntStats, closeSync, constants, ftruncateSync, readFileSync, writeFileSync } from 'node:fs';
import { open, realpath, rename, rm } from 'node:fs/promises';
import { dump } from 'js-yaml';
import { sleep, systemClock } from '../../controller/clock.ts';
import { isObject } from '../../nodepool/json.ts';
import { documentsIn } from './kubeconfig-fields.ts';
import { openRegularFile } from './regular-file.ts';

/** kubectl holds its lock for the time of a write. */
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 50;

/**
 * Does nothing if the user is not in the file any more. Throws Error, and what node:fs gives; the file is then as before.
 * @param config of the user's auth-provider, from now on
 */
export async function persistTokens(file: string, user: string, config: Record<string, string>): Promise<void> {
  // Resolved once: whoever may write the folder could put a link to another file there at any time.
  const target = await realpath(file);
  // kubectl takes the same lock.
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

/** The tokens may be good once: who holds the lock is waited for. */
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
 * All of it or nothing; owner, group and mode stay.
 * @param original of the file that was read: another one may be there by now
 */
async function replace(file: string, text: string, original: BigIntStats): Promise<void> {
  // A name that cannot be known before, nor be left by an earlier process of the same id, as 1 in containers.
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
      // Only now: another group may not read it.
      if (isSame) await handle.chmod(Number(original.mode) & 0o777);
    } finally {
      await handle.close();
    }
    if (isSame) return await rename(next, file);
    // Somebody else's, which we may write and not give back: in place, as by kubectl.
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

/** Not what a link leads to. */
function openItself(file: string, flags: number) {
  try {
    // Windows has no such flag; links need a privilege there.
    return openRegularFile(file, flags | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? replaced(file) : error;
  }
}

function replaced(file: string): Error {
  return new Error(`${file} was replaced by another file or a link meanwhile`);
}
