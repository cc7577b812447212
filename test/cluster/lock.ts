/**
 * A lock between processes: a file that its holder created and keeps touching.
 *
 * It is stale when its holder is gone, or has not touched it for 30 s (another machine's holder on a shared home).
 * Not guaranteed: two processes that find the same stale lock in the same instant may, in a window of microseconds,
 * both get it. What it guards must be written atomically anyway.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const STALE_MS = 30_000;
const TOUCH_MS = 5_000;
const RETRY_MS = 200;

/** Runs `work` while holding the lock `path`; `onWait` is called once if another process has it. */
export async function withLock<T>(path: string, work: () => Promise<T>, onWait?: () => void): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const content = `${process.pid} ${hostname()} ${randomUUID()}\n`;
  let reported = false;
  while (!(await create(path, content))) {
    if (await removeStale(path)) continue;
    if (!reported) onWait?.();
    reported = true;
    await sleep(RETRY_MS);
  }
  const touch = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, TOUCH_MS);
  touch.unref();
  try {
    return await work();
  } finally {
    clearInterval(touch);
    if ((await read(path))?.content === content) await rm(path, { force: true });
  }
}

async function create(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (code(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Takes a stale lock out of the way by renaming it, so that only one of several finders does. */
async function removeStale(path: string): Promise<boolean> {
  const found = await read(path);
  if (found === undefined) return true;
  if (!isStale(found.content, found.touchedMs)) return false;
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (code(error) === 'ENOENT') return true;
    throw error;
  }
  await rm(aside, { force: true });
  return true;
}

function isStale(content: string, touchedMs: number): boolean {
  if (Date.now() - touchedMs > STALE_MS) return true;
  const [pid, host] = content.trim().split(' ');
  // A holder that was killed between creating and writing the file leaves it empty: only its age shows that.
  if (host !== hostname() || pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return code(error) === 'ESRCH';
  }
}

async function read(path: string): Promise<{ content: string; touchedMs: number } | undefined> {
  try {
    const [content, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    return { content, touchedMs: mtimeMs };
  } catch (error) {
    if (code(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function code(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
