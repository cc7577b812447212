/** The syntax of kubectl label, annotate and taint: `k=v`, `k-`, `k=v:Effect`, `k[=v]:Effect-`. */
import { NodepoolError } from '../../../nodepool/errors.ts';
import { setOwn } from '../../../nodepool/json.ts';
import type { TaintRemoval } from '../../../nodepool/spec/edits.ts';
import {
  effectProblem,
  isTaintEffect,
  keyProblem,
  TAINT_EFFECTS,
  valueProblem,
} from '../../../nodepool/spec/syntax.ts';
import { taintId } from '../../../nodepool/spec/taints.ts';
import type { Taint, TaintEffect } from '../../../nodepool/types.ts';

export interface LabelEdits {
  set: Record<string, string>;
  remove: string[];
}

/** Parses all `--label k=v` in a command line. `k=` sets the empty value. */
export function parseLabels(
  texts: readonly string[],
  flag = '--label',
  problemOf = valueProblem,
): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const text of texts) {
    const [key, value] = parseLabel(text, flag, problemOf);
    if (Object.hasOwn(labels, key) && labels[key] !== value) {
      throw flagError(flag, text, `${key} is given twice with different values`, 'use each key once');
    }
    setOwn(labels, key, value);
  }
  return labels;
}

/** Parses the flags of an edit: `k=v` sets, `k-` removes. */
export function parseLabelEdits(texts: readonly string[], flag = '--label', problemOf = valueProblem): LabelEdits {
  const isRemoval = (text: string) => text.endsWith('-') && !text.includes('=');
  const set = parseLabels(
    texts.filter(text => !isRemoval(text)),
    flag,
    problemOf,
  );
  const remove = texts.filter(isRemoval).map(text => {
    const key = text.slice(0, -1);
    check(flag, text, keyProblem(key), KEY_FORM);
    if (Object.hasOwn(set, key)) throw flagError(flag, text, `${key} is both set and removed`, 'use one of the two');
    return key;
  });
  return { set, remove: [...new Set(remove)] };
}

/** Like parseLabels(), but the value may be any text. */
export function parseAnnotations(texts: readonly string[]): Record<string, string> {
  return parseLabels(texts, '--annotation', anyValue);
}

/** Like parseLabelEdits(), but the value may be any text. */
export function parseAnnotationEdits(texts: readonly string[]): LabelEdits {
  return parseLabelEdits(texts, '--annotation', anyValue);
}

function anyValue(): undefined {}

/** Parses all `--taint k[=v]:Effect` in a command line. */
export function parseTaints(texts: readonly string[], flag = '--taint'): Taint[] {
  const taints = new Map<string, Taint>();
  for (const text of texts) {
    const taint = parseTaint(text, flag);
    const id = taintId(taint);
    const before = taints.get(id);
    if (before !== undefined && before.value !== taint.value) {
      throw flagError(flag, text, `${id} is given twice with different values`, 'use each key and effect once');
    }
    taints.set(id, taint);
  }
  return [...taints.values()];
}

/** Parses the flags of an edit: `k[=v]:Effect` sets, `k[=v]:Effect-` removes one taint, `k-` all of that key. */
export function parseTaintEdits(texts: readonly string[], flag = '--taint'): { set: Taint[]; remove: TaintRemoval[] } {
  const isRemoval = (text: string) => text.endsWith('-');
  const set = parseTaints(
    texts.filter(text => !isRemoval(text)),
    flag,
  );
  const ids = new Set(set.map(taintId));
  const remove = texts.filter(isRemoval).map(text => {
    const removal = parseTaintRemoval(text, flag);
    const { key, effect } = removal;
    if (effect !== undefined && ids.has(taintId({ key, effect }))) {
      throw flagError(flag, text, `${removal.key}:${removal.effect} is both set and removed`, 'use one of the two');
    }
    return removal;
  });
  return { set, remove };
}

const KEY_FORM = 'write a key like team or example.com/team';
const VALUE_FORM = 'write a value like gold, or leave it empty';
/** Usually an unset variable in a script. */
const EMPTY = 'the value of the flag is empty';
const LABEL_FORM = 'use key=value';
const TAINT_FORM = `use key[=value]:Effect with one of the effects ${TAINT_EFFECTS.join(', ')}`;
const REMOVAL_FORM = 'use key[=value]:Effect- for one taint, or key- for all taints of that key';

function parseLabel(text: string, flag: string, problemOf: typeof valueProblem): [key: string, value: string] {
  const equals = text.indexOf('=');
  if (text === '') throw flagError(flag, text, EMPTY, LABEL_FORM);
  if (equals < 0) {
    const next = text.endsWith('-') ? LABEL_FORM : `${LABEL_FORM}; "${text}=" sets the empty value`;
    throw flagError(flag, text, '"=" is missing', next);
  }
  const [key, value] = [text.slice(0, equals), text.slice(equals + 1)];
  check(flag, text, keyProblem(key), KEY_FORM);
  check(flag, text, problemOf(value), VALUE_FORM);
  return [key, value];
}

function parseTaint(text: string, flag: string): Taint {
  const colon = text.lastIndexOf(':');
  if (text === '') throw flagError(flag, text, EMPTY, TAINT_FORM);
  if (colon < 0) throw flagError(flag, text, '":Effect" is missing', TAINT_FORM);
  const [pair, effect] = [text.slice(0, colon), text.slice(colon + 1)];
  const equals = pair.indexOf('=');
  const key = equals < 0 ? pair : pair.slice(0, equals);
  const value = equals < 0 ? '' : pair.slice(equals + 1);
  check(flag, text, keyProblem(key), KEY_FORM);
  check(flag, text, valueProblem(value), VALUE_FORM);
  check(flag, text, effectProblem(effect), TAINT_FORM);
  return { key, ...(value === '' ? {} : { value }), effect: effect as TaintEffect };
}

function parseTaintRemoval(text: string, flag: string): TaintRemoval {
  const [pair = '', effect] = text.slice(0, -1).split(/:(.*)/s);
  // Ignores the value, like kubectl taint: key and effect identify a taint.
  const [key = ''] = pair.split('=', 1);
  check(flag, text, keyProblem(key), KEY_FORM);
  if (effect === undefined) return { key };
  check(flag, text, effectProblem(effect), REMOVAL_FORM);
  return isTaintEffect(effect) ? { key, effect } : { key };
}

function check(flag: string, text: string, problem: string | undefined, next: string): void {
  if (problem !== undefined) throw flagError(flag, text, problem, next);
}

export function flagError(flag: string, text: string, problem: string, next: string): NodepoolError {
  return new NodepoolError('usage', `${flag} ${JSON.stringify(text)}: ${problem}`, next);
}
