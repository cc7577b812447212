/**
 * The annotations that `adopt` copies into a pool: those that a person set by a command. Most annotations of a node are
 * written by agents, and a pool that sets one of them would undo every later write of its agent.
 *
 * Not guaranteed: that a person typed the command. A script that runs kubectl has the same field manager.
 */

import { isObject } from '../json.ts';
import { FIELD_MANAGER, managedAt, readManagedFields } from '../managed-fields.ts';
import { isPoolAnnotation } from '../spec/annotations.ts';
import type { Node } from '../types.ts';
import { isOwned } from './adopt-labels.ts';

/** Not those of `kubectl apply`: who applies a file, as a CD tool does, applies it again. */
const COMMANDS: readonly string[] = ['kubectl-annotate', 'kubectl-edit', 'kubectl-patch'];

/** The annotations of a node that a pool could set, without those in domains of others. */
export interface NodeAnnotations {
  uid: string;
  /** Keys and values of those that were set by commands alone. */
  byCommand: ReadonlyMap<string, string>;
  /** Keys of those with another manager, or with none that is known. */
  byOthers: readonly string[];
}

/** @param metadata of a node, as it came in JSON */
export function readNodeAnnotations(metadata: {
  uid?: string;
  annotations?: unknown;
  managedFields?: unknown;
}): NodeAnnotations {
  const entries = readManagedFields(metadata.managedFields);
  const byCommand = new Map<string, string>();
  const byOthers: string[] = [];
  for (const [key, value] of Object.entries(isObject(metadata.annotations) ? metadata.annotations : {})) {
    if (typeof value !== 'string' || isOwned(key) || !isPoolAnnotation(key)) continue;
    const owners = entries.filter(entry => managedAt(entry, ['metadata', 'annotations', key]) !== undefined);
    const managers = owners.map(({ manager }) => manager);
    // Of a pool, or what a pool has restored: then nobody knows whose it was.
    if (managers.includes(FIELD_MANAGER)) continue;
    if (managers.length > 0 && managers.every(manager => COMMANDS.includes(manager))) byCommand.set(key, value);
    else byOthers.push(key);
  }
  return { uid: metadata.uid ?? '', byCommand, byOthers };
}

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();

/** Those of each node that were set by commands, without the keys that anybody else writes on any node. */
export function annotationsByCommand(read: readonly NodeAnnotations[]): (node: Node) => ReadonlyMap<string, string> {
  const ofOthers = new Set(read.flatMap(({ byOthers }) => byOthers));
  const byNode = new Map(
    read.map(({ uid, byCommand }) => [uid, new Map([...byCommand].filter(([key]) => !ofOthers.has(key)))] as const),
  );
  return ({ uid }) => byNode.get(uid) ?? NO_ANNOTATIONS;
}
