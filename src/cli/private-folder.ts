/**
 * Cache folders whose files are trusted when they are read again, such as compiled code: only this user and root may
 * have write access. Without that guarantee nothing is cached.
 */
import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

type Env = Record<string, string | undefined>;

const [OTHERS_ANY, OTHERS_WRITE, STICKY] = [0o077, 0o022, 0o1000];

/** A folder in XDG_CACHE_HOME or ~/.cache (freedesktop.org's XDG Base Directory); undefined without a home. */
export function cachePath(name: string, env: Env): string | undefined {
  const home = env.HOME || env.USERPROFILE;
  const { XDG_CACHE_HOME: xdg } = env;
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : home && join(home, '.cache');
  return base ? join(base, 'kubectl-nodepool', name) : undefined;
}

/**
 * The folder's real path, without symbolic links, which others could replace. Undefined if it does not exist or is not
 * private to this user. Windows has no such modes, but a user's profile is private there.
 * @param user the required owner; undefined on Windows
 */
export function privateFolder(path: string, user = process.geteuid?.()): string | undefined {
  try {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return undefined;
    const folder = realpathSync(path);
    if (user === undefined) return folder;
    const isPrivate = stats.uid === user && (stats.mode & OTHERS_ANY) === 0;
    return isPrivate && parentsOf(folder).every(parent => isSafe(lstatSync(parent), user)) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Like privateFolder(), but first creates the folder if no other user can write to a parent folder. */
export function makePrivateFolder(path: string, user = process.geteuid?.()): string | undefined {
  try {
    const missing = [path, ...parentsOf(path)].filter(isMissing).reverse();
    // One at a time: with `recursive`, Node never returns below a folder that cannot have subfolders, such as /proc.
    if (hasSafeParents(path, user)) for (const folder of missing) mkdirSync(folder, 0o700);
  } catch {
    // privateFolder() then returns undefined.
  }
  return privateFolder(path, user);
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
}

/** Whether the nearest existing parent folder, and all folders above it, are safe. */
function hasSafeParents(path: string, user: number | undefined): boolean {
  if (user === undefined) return true;
  const above = parentsOf(path).find(parent => !isMissing(parent));
  if (above === undefined) return false;
  const folder = realpathSync(above);
  return [folder, ...parentsOf(folder)].every(parent => isSafe(lstatSync(parent), user));
}

/** Whether no other user can replace an entry in the folder. */
function isSafe({ uid, mode }: Stats, user: number): boolean {
  return (uid === user || uid === 0) && ((mode & OTHERS_WRITE) === 0 || (mode & STICKY) !== 0);
}

/** All parent folders, up to the root. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}
