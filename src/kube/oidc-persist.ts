/** Writes renewed tokens back to the kubeconfig they come from, as kubectl does: the whole file anew, so comments go. */
import { open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dump } from 'js-yaml';
import { sleep, systemClock } from '../controller/clock.ts';
import { documentsIn, isSection } from './kubeconfig-fields.ts';

/** kubectl holds its lock for the time of a write. */
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 50;

/**
 * Does nothing if the user is not in the file any more. Throws Error, and what node:fs gives; the file is then as before.
 * @param config of the user's auth-provider, from now on
 */
export async function persistTokens(file: string, user: string, config: Record<string, string>): Promise<void> {
  const target = await realpath(file);
  // kubectl takes the same lock.
  const lock = `${file}.lock`;
  await take(lock);
  try {
    const documents = documentsIn(await readFile(target, 'utf8'));
    const [root] = documents;
    const users = isSection(root) && Array.isArray(root.users) ? root.users.filter(isSection) : [];
    const section = users.find(({ name }) => name === user)?.user;
    const provider = isSection(section) ? section['auth-provider'] : undefined;
    if (!isSection(provider)) return;
    provider.config = config;
    await replace(target, documents.map(document => dump(document, { lineWidth: -1 })).join('---\n'));
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

/** All of it or nothing; owner, group and mode stay. */
async function replace(file: string, text: string): Promise<void> {
  const next = `${file}.${process.pid}.tmp`;
  try {
    const { mode, uid, gid } = await stat(file);
    const handle = await open(next, 'wx', 0o600);
    let isSame: boolean;
    try {
      await handle.writeFile(text);
      await handle.sync();
      isSame = await handle.chown(uid, gid).then(
        () => true,
        () => false,
      );
      // Only now: another group may not read it.
      if (isSame) await handle.chmod(mode & 0o777);
    } finally {
      await handle.close();
    }
    if (isSame) return await rename(next, file);
    // Somebody else's, which we may write and not give back: in place, as by kubectl.
    await writeFile(file, text);
    await rm(next);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}
