/** Only annotations of pools are kept in memory for a node: see docs/decisions/0039. */
import { deepEqual, isObject, ownValue, parsedJson } from '../json.ts';
import type { Node, NodePool } from '../types.ts';
import { keyProblem } from './syntax.ts';

// What the next `kubectl apply` of a pool's file would undo: client-side apply stores the file in an annotation.

export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Fields that differ from the last applied file, such as `spec.taints`. Fields missing in the file are not undone. */
export function takenBackByApply({ metadata, spec }: NodePool): string[] {
  const file = lastApplied(metadata);
  return isObject(file?.spec) ? differing('spec', file.spec, { ...spec }) : [];
}

/** The file that client-side apply stored; undefined if it was not used. */
export function lastApplied({ annotations }: NodePool['metadata']): Record<string, unknown> | undefined {
  const file = parsedJson(annotations?.[LAST_APPLIED] ?? 'null');
  return isObject(file) ? file : undefined;
}

function differing(path: string, file: Record<string, unknown>, live: Record<string, unknown>): string[] {
  return Object.entries(file).flatMap(([key, wanted]) => {
    const value = ownValue(live, key);
    if (isObject(wanted) && isObject(value)) return differing(`${path}.${key}`, wanted, value);
    return deepEqual(wanted, value) ? [] : [`${path}.${key}`];
  });
}

export const MAX_ANNOTATIONS = 64;
/** Maximum of all keys and values of a pool, in UTF-8 bytes, as the server counts those of an object. */
export const MAX_ANNOTATION_BYTES = 64 * 1024;

/** Written by the kubelet, cloud controllers, the attach-detach controller, kubeadm, and this program. */
const REFUSED_PREFIXES = [
  'nodes.lailin.xyz/',
  'node.alpha.kubernetes.io/',
  'volumes.kubernetes.io/',
  'csi.volume.kubernetes.io/',
  'kubeadm.alpha.kubernetes.io/',
];
/** Written by the kubelet and `kubectl apply`. */
const REFUSED = ['alpha.kubernetes.io/provided-node-ip', LAST_APPLIED];

/** Whether no pool may set the annotation. */
export function isRefusedAnnotation(key: string): boolean {
  return REFUSED.includes(key) || REFUSED_PREFIXES.some(prefix => key.startsWith(prefix));
}

/** Whether a pool can have set the annotation. */
export function isPoolAnnotation(key: string): boolean {
  return keyProblem(key) === undefined && !isRefusedAnnotation(key);
}

/** The server also limits the length of each value; if one is too long, it does not check the sum. */
export function isTooLong(value: string): boolean {
  return value.length > MAX_ANNOTATION_BYTES && [...value].length > MAX_ANNOTATION_BYTES;
}

export function annotationBytes(annotations: Readonly<Record<string, string>>): number {
  const encoder = new TextEncoder();
  return Object.entries(annotations).reduce((sum, pair) => sum + encoder.encode(pair.join('')).length, 0);
}

/** Whether it is known for each annotation if the node has it. @param recorded those in the node's record */
export function areAnnotationsKnown(
  { keptAnnotations }: Pick<Node, 'keptAnnotations'>,
  recorded: ReadonlyMap<string, unknown> | undefined,
  keys: Iterable<string>,
): boolean {
  for (const key of keys) if (!keptAnnotations?.has(key) && !recorded?.has(key)) return false;
  return true;
}

/** @param value undefined removes it */
export function withAnnotation(
  annotations: Readonly<Record<string, string>> = {},
  key: string,
  value: string | undefined,
): Record<string, string> {
  const { [key]: _before, ...others } = annotations;
  return value === undefined ? others : { ...others, [key]: value };
}
