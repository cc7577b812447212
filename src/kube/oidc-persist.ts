/** Writes renewed tokens back to the kubeconfig they come from, as kubectl does: the whole file anew, so comments go. */
import { open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dump, load } from 'js-yaml';
import { isSection } from './kubeconfig-fields.ts';

/**
 * Does nothing if the user is not in the file any more. Throws Error, and what node:fs gives; the file is then as before.
 * @param config of the user's auth-provider, from now on
 */
export async function persistTokens(file: string, user: string, config: Record<string, string>): Promise<void> {
  const target = await realpath(file);
  // kubectl takes the same lock.
  const lock = `${file}.lock`;
  await (await open(lock, 'wx', 0o600)).close();
  try {
    const root = load(await readFile(target, 'utf8'));
    const users = isSection(root) && Array.isArray(root.users) ? root.users.filter(isSection) : [];
    const section = users.find(({ name }) => name === user)?.user;
    const provider = isSection(section) ? section['auth-provider'] : undefined;
    if (!isSection(provider)) return;
    provider.config = config;
    const { mode } = await stat(target);
    const next = `${target}.${process.pid}.tmp`;
    try {
      await writeFile(next, dump(root, { lineWidth: -1 }), { mode: mode & 0o777, flag: 'wx' });
      await rename(next, target);
    } catch (error) {
      await rm(next, { force: true });
      throw error;
    }
  } finally {
    await rm(lock, { force: true });
  }
}
