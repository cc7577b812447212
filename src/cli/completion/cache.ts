/** Names that were asked for a moment ago, in files that only the user can read. Nothing in here throws. */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Names } from '../../operations/names-port.ts';
import { makePrivateFolder, privateFolder } from '../private-folder.ts';

/** Older files are taken away: what a cluster's nodes are called is not to lie about for ever. */
const KEPT_MS = 24 * 3_600_000;

/** @param key a file name. Undefined when there are none; age in milliseconds */
export function readCache(folder: string, key: string, now: Date): { names: Names; ageMs: number } | undefined {
  const own = privateFolder(folder);
  if (own === undefined) return undefined;
  try {
    const { at, ...names }: Names & { at: number } = JSON.parse(readFileSync(join(own, key), 'utf8'));
    const ageMs = now.getTime() - at;
    // A clock that was set back must not keep them for ever.
    const isSound = isNames(names) && ageMs >= 0;
    return isSound ? { names, ageMs } : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all: another shell may read it meanwhile. */
export function writeCache(folder: string, key: string, names: Names, now: Date): void {
  const own = makePrivateFolder(folder);
  if (own === undefined) return;
  const path = join(own, key);
  try {
    const ready = `${path}.${process.pid}`;
    removeOld(own, now);
    writeFileSync(ready, JSON.stringify({ at: now.getTime(), ...names }), { mode: 0o600, flag: 'wx' });
    renameSync(ready, path);
  } catch {
    // Then they are asked for again.
  }
}

function removeOld(folder: string, now: Date): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    // Another shell may have renamed it meanwhile.
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (now.getTime() - written > KEPT_MS) rmSync(path, { force: true });
  }
}

function isNames({ names, labelKeys, resources = [], recorded = {}, roles = {} }: Names): boolean {
  return [names, labelKeys, resources, ...Object.values(recorded), ...Object.values(roles)].every(isTexts);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string');
}
