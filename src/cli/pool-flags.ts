/** The flags of a pool's spec, for create and edit. */
import * as Flags from '@oclif/core/flags';
import type { SpecEdits } from '../nodepool/edits.ts';
import type { NodePoolSpec } from '../nodepool/types.ts';
import {
  parseAnnotationEdits,
  parseAnnotations,
  parseLabelEdits,
  parseLabels,
  parseTaintEdits,
  parseTaints,
} from './flag-syntax.ts';
import { repeatedFlag } from './flags.ts';
import { parseSelectorFlag } from './selector-flag.ts';
import { parseStartupTaintEdits, parseStartupTaints } from './startup-taint-flag.ts';

const GROUP = { helpGroup: 'POOL' };
const UNMANAGED = "Others' labels and taints: Keep (default) or Remove, even those of clouds and CNI.";

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
    summary: 'Selector of members, as kubectl get -l takes it; default: node-role.kubernetes.io/NAME="".',
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
  // Not --no-execute, which reads as if nothing were done.
  noexecute: Flags.option({
    ...GROUP,
    options: ['Immediate', 'Drain'] as const,
    summary: 'NoExecute taints: Drain evicts pods first.',
    helpValue: 'Immediate|Drain',
  })(),
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
    summary: "Set requirements on members' labels: a=b, '!a'; a- removes those of a.",
    helpValue: 'SELECTOR|KEY-',
  }),
  annotation: Flags.string({
    ...GROUP,
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Set or remove an annotation; no lists.',
    helpValue: 'KEY=VALUE|KEY-',
  }),
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
  };
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
