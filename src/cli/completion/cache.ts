/** Cached names, in files that only the user can read. Nothing in here throws. */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Names } from '../../operations/names-port.ts';
import { makePrivateFolder, privateFolder } from '../private-folder.ts';

/** Older files are deleted: names of a cluster are not kept for ever. */
const MAX_AGE_MS = 24 * 3_600_000;

/** Undefined without a valid entry. @param key a file name */
export function readCache(folder: string, key: string, now: Date): { names: Names; ageMs: number } | undefined {
  const own = privateFolder(folder);
  if (own === undefined) return undefined;
  try {
    const { at, ...names }: Names & { at: number } = JSON.parse(readFileSync(join(own, key), 'utf8'));
    const ageMs = now.getTime() - at;
    // A clock that was set back must not make an entry last for ever.
    const isValid = isNames(names) && ageMs >= 0;
    return isValid ? { names, ageMs } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes atomically: another shell may read it at the same time. */
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
    // The next completion asks the server.
  }
}

function removeOld(folder: string, now: Date): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    // Another shell may have renamed it.
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (now.getTime() - written > MAX_AGE_MS) rmSync(path, { force: true });
  }
}

function isNames(names: Names): boolean {
  const { labelKeys, labelValues = {}, recorded = {}, roles = {}, revisions = {} } = names;
  const { resources = [], taints = [], startupTaints = [], annotations = [] } = names;
  const byKey = [labelValues, recorded, roles, revisions].flatMap(lists => Object.values(lists));
  return [names.names, labelKeys, resources, taints, startupTaints, annotations, ...byKey].every(isTexts);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string');
}
