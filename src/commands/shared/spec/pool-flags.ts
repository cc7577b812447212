/** The flags for a pool's spec, for create and edit. */

import { isDeepStrictEqual } from 'node:util';
import * as Flags from '@oclif/core/flags';
import { parseDuration } from '../../../cli/duration.ts';
import { repeatedFlag } from '../../../cli/flags.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { setOwn } from '../../../nodepool/json.ts';
import type { Requirement } from '../../../nodepool/membership/label-query.ts';
import { parseTerms, type SelectorTerm } from '../../../nodepool/membership/label-selector.ts';
import { editRollout, type SpecEdits, type TaintRemoval } from '../../../nodepool/spec/edits.ts';
import { againProblem, conditionProblem, taintId } from '../../../nodepool/spec/taints.ts';
import { countProblem, MAX_SETTLE_SECONDS } from '../../../nodepool/spec/validation.ts';
import type { NodePoolSpec, StartupTaint } from '../../../nodepool/types.ts';
import {
  flagError,
  parseAnnotationEdits,
  parseAnnotations,
  parseLabelEdits,
  parseLabels,
  parseTaintEdits,
  parseTaints,
} from './flag-syntax.ts';

const GROUP = { helpGroup: 'POOL' };
const UNMANAGED = 'Labels and taints of others: Keep or Remove.';

export const createPoolFlags = {
  label: repeatedFlag({
    ...GROUP,
    summary: 'Label to set on members: a=b,c=d; repeatable.',
    helpValue: 'KEY=VALUE',
  }),
  taint: repeatedFlag({
    ...GROUP,
    summary: 'Taint to set on members; repeatable.',
    helpValue: 'KEY[=VALUE]:EFFECT',
  }),
  'startup-taint': repeatedFlag({
    ...GROUP,
    summary: 'For new nodes: a:Effect[,until=T][,again=Boot].',
    helpValue: 'TAINT',
  }),
  handler: Flags.string({
    ...GROUP,
    summary: 'Handler of the RuntimeClass node-pool-NAME.',
    helpValue: 'NAME',
  }),
  'node-selector': repeatedFlag({
    ...GROUP,
    summary: 'Selector of members, as in kubectl get -l; default: node-role.kubernetes.io/NAME="".',
    helpValue: 'SELECTOR',
  }),
  annotation: Flags.string({
    ...GROUP,
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Annotation of members; repeatable, no lists.',
    helpValue: 'KEY=VALUE',
  }),
  unmanaged: Flags.option({
    ...GROUP,
    options: ['Keep', 'Remove'] as const,
    summary: UNMANAGED,
    helpValue: 'Keep|Remove',
  })(),
  // Not --no-execute, which could be read as "do nothing".
  noexecute: Flags.option({
    ...GROUP,
    options: ['Immediate', 'Drain'] as const,
    summary: 'NoExecute taints: Drain evicts pods first.',
    helpValue: 'Immediate|Drain',
  })(),
  'max-concurrent': Flags.string({
    ...GROUP,
    summary: 'Rollout: members to change at a time.',
    helpValue: 'N|%',
  }),
  canary: Flags.string({ ...GROUP, summary: 'Rollout: members to change first.', helpValue: 'N|%' }),
  settle: Flags.string({
    ...GROUP,
    summary: 'Rollout: how long members must stay Ready.',
    helpValue: 'TIME',
  }),
  paused: Flags.boolean({ ...GROUP, summary: 'Write nothing to nodes until resumed.' }),
};

export const editPoolFlags = {
  ...createPoolFlags,
  label: repeatedFlag({
    ...GROUP,
    summary: 'Set or remove labels: a=b,c-; repeatable.',
    helpValue: 'KEY=VALUE|KEY-',
  }),
  taint: repeatedFlag({
    ...GROUP,
    summary: 'Set or remove taints; a- removes all of a.',
    helpValue: 'KEY[=VALUE]:EFFECT[-]',
  }),
  'startup-taint': repeatedFlag({
    ...GROUP,
    summary: 'Set or remove a taint of new nodes: a:Effect[,until=T][,again=Boot], a-.',
    helpValue: 'TAINT|KEY-',
  }),
  handler: Flags.string({ ...GROUP, summary: 'Set the runtime handler; "" removes it.', helpValue: 'NAME' }),
  'node-selector': repeatedFlag({
    ...GROUP,
    summary: "Set requirements on members' labels: a=b, '!a'; a- removes those on a.",
    helpValue: 'SELECTOR|KEY-',
  }),
  annotation: Flags.string({
    ...GROUP,
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Set or remove an annotation; no lists.',
    helpValue: 'KEY=VALUE|KEY-',
  }),
  paused: Flags.boolean({ ...GROUP, allowNo: true, summary: 'Write nothing to nodes until resumed.' }),
};

export interface PoolFlags {
  label?: string[] | undefined;
  taint?: string[] | undefined;
  'startup-taint'?: string[] | undefined;
  handler?: string | undefined;
  'node-selector'?: string[] | undefined;
  annotation?: string[] | undefined;
  unmanaged?: 'Keep' | 'Remove' | undefined;
  noexecute?: 'Immediate' | 'Drain' | undefined;
  'max-concurrent'?: string | undefined;
  canary?: string | undefined;
  settle?: string | undefined;
  paused?: boolean | undefined;
}

export function hasPoolFlags(flags: PoolFlags): boolean {
  return Object.keys(createPoolFlags).some(name => flags[name as keyof PoolFlags] !== undefined);
}

/** The spec in the flags of create. Throws a usage error that quotes the flag. */
export function specFromFlags(flags: PoolFlags): NodePoolSpec {
  return {
    ...(flags.label ? { labels: parseLabels(flags.label) } : {}),
    ...(flags.taint ? { taints: parseTaints(flags.taint) } : {}),
    ...(flags.handler === undefined ? {} : { handler: flags.handler }),
    ...selectorOf(flags['node-selector'] ?? []),
    ...(flags.unmanaged ? { unmanaged: flags.unmanaged } : {}),
    ...(flags.noexecute ? { noExecute: flags.noexecute } : {}),
    ...(flags.annotation ? { annotations: parseAnnotations(flags.annotation) } : {}),
    ...(flags['startup-taint'] ? { startupTaints: parseStartupTaints(flags['startup-taint']) } : {}),
    ...editRollout(undefined, rolloutEdits(flags)),
    ...(flags.paused ? { paused: true } : {}),
  };
}

/** The changes in the flags of edit. Throws a usage error that quotes the flag. */
export function editsFromFlags(flags: PoolFlags): SpecEdits {
  const taints = parseTaintEdits(flags.taint ?? []);
  const startupTaints = parseStartupTaintEdits(flags['startup-taint'] ?? []);
  const selector = parseSelectorFlag(flags['node-selector'] ?? [], true);
  return {
    labels: mapEdits(parseLabelEdits(flags.label ?? [])),
    nodeSelector: mapEdits({ set: selector.labels, remove: selector.remove }),
    matchExpressions: selector.expressions,
    annotations: mapEdits(parseAnnotationEdits(flags.annotation ?? [])),
    setTaints: taints.set,
    removeTaints: taints.remove,
    setStartupTaints: startupTaints.set,
    removeStartupTaints: startupTaints.remove,
    handler: flags.handler,
    unmanaged: flags.unmanaged,
    noExecute: flags.noexecute,
    rollout: rolloutEdits(flags),
    paused: flags.paused,
  };
}

// `--max-concurrent`, `--canary` and `--settle`: fields of spec.rollout.

/** null removes the field. */
function rolloutEdits({ 'max-concurrent': maxConcurrent, canary, settle }: PoolFlags): SpecEdits['rollout'] {
  return {
    ...(maxConcurrent === undefined ? {} : { maxConcurrent: parseCount(maxConcurrent, '--max-concurrent', 1) }),
    ...(canary === undefined ? {} : { canary: parseCount(canary, '--canary', 0) }),
    ...(settle === undefined ? {} : { settleSeconds: settle === '' ? null : parseSettle(settle) }),
  };
}

function parseCount(text: string, flag: string, least: 0 | 1): number | string | null {
  // A canary of 0 is none.
  if (text === '' || (least === 0 && /^0+%?$/.test(text))) return null;
  const value = /^\d+$/.test(text) ? Number(text) : text;
  const problem = countProblem(value, least);
  if (problem !== undefined) throw new NodepoolError('usage', `${flag}: ${problem}`, 'write it like 2 or 25%');
  return value;
}

function parseSettle(text: string): number {
  const seconds = parseDuration(text, '--settle') / 1000;
  if (Number.isInteger(seconds) && seconds <= MAX_SETTLE_SECONDS) return seconds;
  throw new NodepoolError(
    'usage',
    `--settle: "${text}" must be whole seconds, and 24h at most`,
    'write it like 30s or 5m',
  );
}

function selectorOf(texts: readonly string[]): NodePoolSpec {
  const { labels, expressions } = parseSelectorFlag(texts, false);
  return {
    ...(Object.keys(labels).length > 0 ? { nodeSelector: labels } : {}),
    ...(expressions.length > 0 ? { matchExpressions: expressions } : {}),
  };
}

function mapEdits({ set, remove }: ReturnType<typeof parseLabelEdits>): Record<string, string | null> {
  return { ...set, ...Object.fromEntries(remove.map(key => [key, null])) };
}

// `--node-selector`, in the syntax of `kubectl get -l`: `a=b`, `a in (b,c)`, `!a`, `a>4`; and `a-` in an edit.

interface SelectorFlag {
  labels: Record<string, string>;
  expressions: Requirement[];
  remove: string[];
}

const FORM = "write it like key=value, 'key in (a,b)' or '!key', as for kubectl get -l";

/** Parses all `--node-selector` flags. @param mayRemove `key-` removes the pool's requirements for a label */
function parseSelectorFlag(texts: readonly string[], mayRemove: boolean): SelectorFlag {
  const found: SelectorFlag = { labels: {}, expressions: [], remove: [] };
  for (const text of texts) {
    for (const term of termsOf(text, mayRemove)) add(term, text, found);
  }
  const { labels, expressions, remove } = found;
  const twice = remove.find(key => Object.hasOwn(labels, key) || expressions.some(each => each.key === key));
  if (twice !== undefined) throw refusal(`${twice}-`, `${twice} is both set and removed`, 'use one of the two');
  return { ...found, remove: [...new Set(remove)] };
}

function termsOf(text: string, mayRemove: boolean): SelectorTerm[] {
  // Usually an unset variable in a script.
  if (text.trim() === '') throw refusal(text, 'the value of the flag is empty', FORM);
  try {
    return parseTerms(text, mayRemove);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    throw refusal(text, error.message.replace(/^cannot read the selector: /, ''), FORM);
  }
}

function add(
  { key, operator, values }: SelectorTerm,
  text: string,
  { labels, expressions, remove }: SelectorFlag,
): void {
  if (operator === 'Remove') remove.push(key);
  else if (operator !== 'Equals') expressions.push({ key, operator, ...(values.length > 0 ? { values } : {}) });
  else if (Object.hasOwn(labels, key) && labels[key] !== values[0]) {
    throw refusal(text, `${key} is given twice with different values`, "use 'key in (a,b)' for one of several values");
  } else setOwn(labels, key, values[0] ?? '');
}

function refusal(text: string, problem: string, next: string): NodepoolError {
  return new NodepoolError('usage', `--node-selector ${JSON.stringify(text)}: ${problem}`, next);
}

const FLAG = '--startup-taint';
const OPTION = /^(until|again)=([^:]*)$/;
const STARTUP_TAINT_FORM = 'use key[=value]:Effect,until=Condition,again=Boot; the node condition removes the taint';

/** Parses all `--startup-taint` in a command line. */
export function parseStartupTaints(texts: readonly string[]): StartupTaint[] {
  return unique(
    texts.flatMap(text => partsOf(text).flatMap(part => startupTaints(text, part, parseTaints([part.taint], FLAG)))),
  );
}

/** Parses the flags of an edit, like parseTaintEdits(); a taint to set may have a condition. */
export function parseStartupTaintEdits(texts: readonly string[]): { set: StartupTaint[]; remove: TaintRemoval[] } {
  const parts = texts.flatMap(text => partsOf(text).map(part => ({ text, part })));
  const { remove } = parseTaintEdits(
    parts.map(({ part }) => part.taint),
    FLAG,
  );
  const set = parts.flatMap(({ text, part }) => startupTaints(text, part, parseTaintEdits([part.taint], FLAG).set));
  return { set: unique(set), remove };
}

interface StartupTaintFlag {
  taint: string;
  until?: string;
  again?: string;
}

function partsOf(text: string): StartupTaintFlag[] {
  const parts: StartupTaintFlag[] = [];
  for (const word of text.split(',')) {
    const last = parts.at(-1);
    // A taint with the key "until" contains a colon.
    const [, option, value] = OPTION.exec(word) ?? [];
    if (option !== 'until' && option !== 'again') parts.push({ taint: word });
    else if (last === undefined) throw startupTaintError(text, `the taint before "${word}" is missing`);
    else if (last[option] !== undefined) throw startupTaintError(text, `${last.taint} has ${option}= twice`);
    else last[option] = value ?? '';
  }
  return parts;
}

function startupTaints(
  text: string,
  { taint, until, again }: StartupTaintFlag,
  parsed: readonly StartupTaint[],
): StartupTaint[] {
  if (until === undefined && again === undefined) return [...parsed];
  if (parsed.length === 0)
    throw startupTaintError(
      text,
      `${taint} removes a taint and takes no ${until === undefined ? 'again=' : 'condition'}`,
    );
  const problem = until === undefined ? undefined : conditionProblem(until);
  if (problem !== undefined) throw startupTaintError(text, problem);
  if (again !== undefined && again !== 'Boot') throw startupTaintError(text, againProblem(again));
  return parsed.map(one => ({
    ...one,
    ...(until === undefined ? {} : { until: { nodeCondition: until } }),
    ...(again === undefined ? {} : { again }),
  }));
}

/** Throws if the same key and effect are given twice with different values. */
function unique(taints: readonly StartupTaint[]): StartupTaint[] {
  const byId = new Map<string, StartupTaint>();
  for (const taint of taints) {
    const id = taintId(taint);
    const before = byId.get(id);
    if (before !== undefined && !isDeepStrictEqual(before, taint)) {
      throw new NodepoolError(
        'usage',
        `${FLAG}: ${id} is given twice with different values`,
        'use each key and effect once',
      );
    }
    byId.set(id, taint);
  }
  return [...byId.values()];
}

function startupTaintError(text: string, problem: string): NodepoolError {
  return flagError(FLAG, text, problem, STARTUP_TAINT_FORM);
}
