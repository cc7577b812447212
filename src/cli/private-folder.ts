/**
 * Cache folders whose files are trusted when they are read again, compiled code above all: only this user and root can
 * write there. Without that guarantee there is no cache.
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
 * The folder's real path, without symbolic links, which others could replace; undefined when it does not exist or is not
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

/** As privateFolder(), and creates it first where no other user can write to a folder above. */
export function makePrivateFolder(path: string, user = process.geteuid?.()): string | undefined {
  try {
    const missing = [path, ...parentsOf(path)].filter(isMissing).reverse();
    // Each by itself: with `recursive`, Node never ends below a folder that can hold none, such as /proc.
    if (hasSafeParents(path, user)) for (const folder of missing) mkdirSync(folder, 0o700);
  } catch {
    // Then privateFolder() finds none.
  }
  return privateFolder(path, user);
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
}

/** Whether the nearest existing folder above, and all above that, are safe. */
function hasSafeParents(path: string, user: number | undefined): boolean {
  if (user === undefined) return true;
  const above = parentsOf(path).find(parent => !isMissing(parent));
  if (above === undefined) return false;
  const folder = realpathSync(above);
  return [folder, ...parentsOf(folder)].every(parent => isSafe(lstatSync(parent), user));
}

/** Whether no other user can replace an entry of the folder. */
function isSafe({ uid, mode }: Stats, user: number): boolean {
  return (uid === user || uid === 0) && ((mode & OTHERS_WRITE) === 0 || (mode & STICKY) !== 0);
}

/** All folders above, up to the root. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}
