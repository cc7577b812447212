/**
 * Folders whose files are trusted when they are read again, compiled code above all: only this user, and root, may have
 * been able to write there. Where that is not sure, there is none.
 */
import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

type Env = Record<string, string | undefined>;

const [OTHERS_ANY, OTHERS_WRITE, STICKY] = [0o077, 0o022, 0o1000];

/** Below the user's caches, by the rules of freedesktop.org's base directories; undefined without a home. */
export function cachePath(name: string, env: Env): string | undefined {
  const home = env.HOME || env.USERPROFILE;
  const { XDG_CACHE_HOME: xdg } = env;
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : home && join(home, '.cache');
  return base ? join(base, 'kubectl-nodepool', name) : undefined;
}

/**
 * The folder's real path, without a link in it that somebody could turn elsewhere; undefined when it is not there or not
 * this user's alone. Windows has no such modes: there a user's profile is closed to others.
 * @param user who it must belong to; undefined on Windows
 */
export function privateFolder(path: string, user = process.geteuid?.()): string | undefined {
  try {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return undefined;
    const folder = realpathSync(path);
    if (user === undefined) return folder;
    const isOwn = stats.uid === user && (stats.mode & OTHERS_ANY) === 0;
    return isOwn && parentsOf(folder).every(parent => isSafe(lstatSync(parent), user)) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** As privateFolder(), and makes it first where that writes nothing into a place of somebody else's. */
export function makePrivateFolder(path: string, user = process.geteuid?.()): string | undefined {
  try {
    const there = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    if (!there && hasSafePlace(path, user)) mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch {
    // Then it is not there.
  }
  return privateFolder(path, user);
}

/** Whether the nearest folder above that is there, and all above that, are safe. */
function hasSafePlace(path: string, user: number | undefined): boolean {
  if (user === undefined) return true;
  const above = parentsOf(path).find(parent => lstatSync(parent, { throwIfNoEntry: false }) !== undefined);
  if (above === undefined) return false;
  const folder = realpathSync(above);
  return [folder, ...parentsOf(folder)].every(parent => isSafe(lstatSync(parent), user));
}

/** Nobody else can put another folder in the place of one in it. */
function isSafe({ uid, mode }: Stats, user: number): boolean {
  return (uid === user || uid === 0) && ((mode & OTHERS_WRITE) === 0 || (mode & STICKY) !== 0);
}

/** Up to the root. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}
