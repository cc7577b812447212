/**
 * Names from the cluster and the kubeconfig: from the cache while it is fresh, else from the server with a short
 * timeout. Also the cache itself, and the check that candidates are safe in a command line.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompletionNames, NamesKind, NamesPort } from '../../kube/resources/names.ts';
import { ownValue } from '../../nodepool/json.ts';
import { cachePath, makePrivateFolder, privateFolder } from '../private-folder.ts';
import type { LiveNames } from './sources.ts';

/** Entries younger than this are used without a request to the server. */
const FRESH_MS = 10_000;
/** Entries younger than this are used when the server does not answer in time. */
const USABLE_MS = 300_000;
/** Timeout without a usable entry; short because the user is waiting. */
const TIMEOUT_MS = 800;
/** Timeout with a usable entry. */
const SHORT_TIMEOUT_MS = 300;

export interface LiveOptions {
  /** For members, nonMembers and revisions: the pools in the command line. */
  pools?: readonly string[];
  /** For poolLabels and nodeLabels: return the values of this key instead of the keys. */
  labelKey?: string | undefined;
  /** The namespace of pods; undefined: the one in the kubeconfig. */
  namespace?: string | undefined;
  env: Record<string, string | undefined>;
  now: () => Date;
}

/** Returns only names that need no quoting in a shell. Rejects when the server cannot be reached. */
export async function liveNames(what: LiveNames, port: NamesPort, options: LiveOptions): Promise<string[]> {
  return (await allNames(what, port, options)).filter(isSafeName);
}

async function allNames(what: LiveNames, port: NamesPort, options: LiveOptions): Promise<string[]> {
  switch (what) {
    case 'contexts':
    case 'clusters':
    case 'users':
      return port.access()[what];
    case 'pools':
    case 'nodes':
    case 'namespaces':
    case 'pods':
      return (await cached(what, port, options)).names;
    case 'poolsAndNodes': {
      const both = (['pools', 'nodes'] as const).map(async kind => (await cached(kind, port, options)).names);
      return [...new Set((await Promise.all(both)).flat())];
    }
    case 'members':
    case 'nonMembers':
      return byMembership(what, await cached('nodes', port, options), options.pools ?? []);
    case 'resources':
      return (await cached('pools', port, options)).resources ?? [];
    case 'poolLabels':
      return labelsOf(await cached('pools', port, options), options);
    case 'nodeLabels':
      return labelsOf(await cached('nodes', port, options), options);
    case 'settableLabels': {
      const { isClusterLabel } = await import('../../nodepool/spec/validation.ts');
      const names = await cached('nodes', port, options);
      return labelsOf({ ...names, labelKeys: names.labelKeys.filter(key => !isClusterLabel(key)) }, options);
    }
    case 'taints':
    case 'startupTaints':
      return (await cached('pools', port, options))[what] ?? [];
    case 'revisions': {
      const { revisions = {} } = await cached('revisions', port, options);
      const named = (options.pools ?? []).flatMap(pool => ownValue(revisions, pool) ?? []);
      return options.pools?.length ? named : [...new Set(Object.values(revisions).flat())];
    }
    case 'annotations':
      // Annotation values may contain anything.
      return options.labelKey === undefined ? ((await cached('pools', port, options)).annotations ?? []) : [];
  }
}

function labelsOf({ labelKeys, labelValues = {} }: CompletionNames, { labelKey }: LiveOptions): string[] {
  return labelKey === undefined ? labelKeys : (ownValue(labelValues, labelKey) ?? []);
}

/** The nodes of these pools (members), or the nodes that are in no pool (nonMembers); without pools, all nodes. */
function byMembership(what: 'members' | 'nonMembers', nodes: CompletionNames, pools: readonly string[]): string[] {
  const { names, recorded = {}, roles = {} } = nodes;
  if (pools.length === 0) return names;
  const byRole = pools.flatMap(pool => ownValue(roles, pool) ?? []);
  if (what === 'members') return [...new Set([...pools.flatMap(pool => ownValue(recorded, pool) ?? []), ...byRole])];
  // Nodes of another pool are left out: they can be moved, but not added.
  const taken = new Set([...Object.values(recorded).flat(), ...byRole]);
  return names.filter(name => !taken.has(name));
}

async function cached(
  kind: NamesKind,
  port: NamesPort,
  { env, now, ...options }: LiveOptions,
): Promise<CompletionNames> {
  const folder = cachePath('completion', env);
  const namespace = kind === 'pods' ? options.namespace || port.namespace() : undefined;
  // The namespace becomes part of a path.
  if (namespace !== undefined && !/^[a-z0-9-]+$/.test(namespace)) throw new Error('not the name of a namespace');
  const hash = createHash('sha256').update(port.identity());
  if (namespace !== undefined) hash.update(`\n${namespace}`);
  const key = `${hash.digest('hex').slice(0, 32)}-${kind}.json`;
  const found = folder === undefined ? undefined : readCache(folder, key, now());
  if (found !== undefined && found.ageMs < FRESH_MS) return found.names;
  const old = found !== undefined && found.ageMs < USABLE_MS ? found.names : undefined;
  try {
    if (!port.isQuiet()) throw new Error('a person would have to log in');
    const names = await port.list(kind, old === undefined ? TIMEOUT_MS : SHORT_TIMEOUT_MS, namespace);
    if (folder !== undefined) writeCache(folder, key, names, now());
    return names;
  } catch (error) {
    if (old === undefined) throw error;
    return old;
  }
}

// Caches names in files that only the user can read. Nothing in here throws.

/** Older files are deleted, so that names of a cluster are not kept forever. */
const MAX_AGE_MS = 24 * 3_600_000;

/** Undefined if there is no valid entry. @param key a file name */
function readCache(folder: string, key: string, now: Date): { names: CompletionNames; ageMs: number } | undefined {
  const cacheFolder = privateFolder(folder);
  if (cacheFolder === undefined) return undefined;
  try {
    const { at, ...names }: CompletionNames & { at: number } = JSON.parse(readFileSync(join(cacheFolder, key), 'utf8'));
    const ageMs = now.getTime() - at;
    // If the clock was set back, an entry must not stay valid forever.
    const isValid = isNames(names) && ageMs >= 0;
    return isValid ? { names, ageMs } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes atomically: another shell may read it at the same time. */
function writeCache(folder: string, key: string, names: CompletionNames, now: Date): void {
  const cacheFolder = makePrivateFolder(folder);
  if (cacheFolder === undefined) return;
  const path = join(cacheFolder, key);
  try {
    const ready = `${path}.${process.pid}`;
    removeOld(cacheFolder, now);
    writeFileSync(ready, JSON.stringify({ at: now.getTime(), ...names }), { mode: 0o600, flag: 'wx' });
    renameSync(ready, path);
  } catch {
    // The next completion asks the server.
  }
}

function removeOld(folder: string, now: Date): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    // Another shell may have renamed the file.
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (now.getTime() - written > MAX_AGE_MS) rmSync(path, { force: true });
  }
}

function isNames(names: CompletionNames): boolean {
  const { labelKeys, labelValues = {}, recorded = {}, roles = {}, revisions = {} } = names;
  const { resources = [], taints = [], startupTaints = [], annotations = [] } = names;
  const byKey = [labelValues, recorded, roles, revisions].flatMap(lists => Object.values(lists));
  return [names.names, labelKeys, resources, taints, startupTaints, annotations, ...byKey].every(isTexts);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string');
}

// Checks that candidates are safe in a command line. Completion scripts evaluate candidates: the script of kubectl 1.32
// ran the `$(...)` in a resource name, which anyone who writes a node's status can choose.

/** The characters of names, label keys, contexts, flags and field paths; none is special to a shell. */
const CANDIDATE = /^[A-Za-z0-9._/:=,@+-]+$/;
/** The same characters, without a leading dash; a qualified name in Kubernetes has at most 317 characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._/:=,@+-]{0,511}$/;
/** All characters but those and our own punctuation. Our descriptions have no `$`, backquote or backslash. */
const NOT_IN_SENTENCES = /[^A-Za-z0-9._/:=,@+ ;!()'"-]/g;

/** Whether the candidate may be offered. Unsafe candidates are dropped, because a part of one would be another name. */
export function isSafeCandidate(value: string): boolean {
  return CANDIDATE.test(value);
}

/** Like isSafeCandidate(), for a name that somebody else chose. */
function isSafeName(name: string): boolean {
  return NAME.test(name);
}

/** The description of a candidate: always our own text, never text from a cluster or a file. */
export function safeDescription(text: string): string {
  return text.replaceAll('…', '...').replace(NOT_IN_SENTENCES, '');
}
