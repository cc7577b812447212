/**
 * What others set on a RuntimeClass that is replaced, as its handler is immutable. Between its deletion and the creation of
 * the next one it is kept in an annotation on the pool: a process may end in between.
 *
 * Not guaranteed: that the annotation is authentic. Whoever may write pools may write it, so any text is read, and what a
 * RuntimeClass may not have is left out.
 */
import { defined, isObject } from '../json.ts';
import { compareQuantities, parseQuantity, QuantityError } from '../quantity/quantity.ts';
import { keyProblem, valueProblem } from '../spec/syntax.ts';
import { type NodePool, REPLACED_ANNOTATION, type RuntimeClass } from '../types.ts';

export interface ClassRest {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  overhead?: unknown;
}

/** Characters of the annotation: those of an object have 256 KiB together. */
export const MAX_REST_LENGTH = 16 * 1024;

/** The pool sets none of these. Undefined where others did neither. */
export function restOf({ overhead, metadata }: RuntimeClass): ClassRest | undefined {
  const [labels, annotations] = [nonEmpty(metadata.labels), nonEmpty(metadata.annotations)];
  const rest = defined({ labels, annotations, overhead: overhead ?? undefined });
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** For the annotation: where all of it is too long, without the annotations, then without the labels. @param pool its UID */
export function formatRest({ labels, annotations, overhead }: ClassRest, pool: string): string | undefined {
  return [{ labels, annotations, overhead }, { labels, overhead }, { overhead }]
    .filter(rest => Object.values(rest).some(value => value !== undefined))
    .map(rest => JSON.stringify({ pool, ...rest }))
    .find(text => text.length <= MAX_REST_LENGTH);
}

/** Undefined where the pool has none, or one of another pool: that of a manifest or a backup. */
export function keptRest({ metadata: { uid, annotations } }: NodePool): ClassRest | undefined {
  const raw = annotations?.[REPLACED_ANNOTATION];
  return raw === undefined || uid === undefined ? undefined : parseRest(raw, uid);
}

/** Of any text. @param pool its UID */
export function parseRest(raw: string, pool: string): ClassRest | undefined {
  if (raw.length > MAX_REST_LENGTH) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(raw);
  } catch {
    return undefined;
  }
  if (!isObject(json) || json.pool !== pool) return undefined;
  const labels = valid(json.labels, (key, value) => (keyProblem(key) ?? valueProblem(value)) === undefined);
  // As the server validates the keys of annotations.
  const annotations = valid(json.annotations, key => keyProblem(key.toLowerCase()) === undefined);
  return defined({ labels, annotations, overhead: overheadOf(json.overhead) });
}

function overheadOf(json: unknown): { podFixed: Record<string, string> } | undefined {
  if (!isObject(json)) return undefined;
  const podFixed = valid(json.podFixed, (key, value) => keyProblem(key) === undefined && isAmount(value));
  return podFixed && { podFixed };
}

/** Undefined where there is none. */
function valid(json: unknown, isValid: (key: string, value: string) => boolean): Record<string, string> | undefined {
  if (!isObject(json)) return undefined;
  const pairs = Object.entries(json).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  return nonEmpty(Object.fromEntries(pairs.filter(([key, value]) => isValid(key, value))));
}

function isAmount(text: string): boolean {
  try {
    return compareQuantities(parseQuantity(text), parseQuantity('0')) >= 0;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

function nonEmpty<V>(map: Record<string, V> = {}): Record<string, V> | undefined {
  return Object.keys(map).length === 0 ? undefined : map;
}
