/** The flags of a pool's spec, for create and edit. */
import * as Flags from '@oclif/core/flags';
import type { SpecEdits } from '../nodepool/edits.ts';
import type { NodePoolSpec } from '../nodepool/types.ts';
import { parseLabelEdits, parseLabels, parseTaintEdits, parseTaints } from './flag-syntax.ts';
import { repeatedFlag } from './flags.ts';

const GROUP = { helpGroup: 'POOL' };
const UNMANAGED =
  'Labels and taints on members that the pool does not set: Keep (default) or Remove, including those of clouds and CNI.';

export const createPoolFlags = {
  label: repeatedFlag({
    ...GROUP,
    summary: 'Label to set on every member; repeatable or comma-separated.',
    helpValue: 'KEY=VALUE',
  }),
  taint: repeatedFlag({
    ...GROUP,
    summary: 'Taint to set on every member; repeatable or comma-separated.',
    helpValue: 'KEY[=VALUE]:EFFECT',
  }),
  handler: Flags.string({
    ...GROUP,
    summary: 'Runtime handler of the RuntimeClass node-pool-NAME, which schedules pods to the pool.',
    helpValue: 'NAME',
  }),
  'node-selector': repeatedFlag({
    ...GROUP,
    summary: 'Label that members have; repeatable or comma-separated; default node-role.kubernetes.io/NAME="".',
    helpValue: 'KEY=VALUE',
  }),
  unmanaged: Flags.option({
    ...GROUP,
    options: ['Keep', 'Remove'] as const,
    summary: UNMANAGED,
    helpValue: 'Keep|Remove',
  })(),
};

export const editPoolFlags = {
  ...createPoolFlags,
  label: repeatedFlag({
    ...GROUP,
    summary: 'Set or remove a label; repeatable or comma-separated.',
    helpValue: 'KEY=VALUE|KEY-',
  }),
  taint: repeatedFlag({
    ...GROUP,
    summary: 'Set or remove a taint; KEY- removes all of that key; repeatable or comma-separated.',
    helpValue: 'KEY[=VALUE]:EFFECT[-]',
  }),
  handler: Flags.string({ ...GROUP, summary: 'Set the runtime handler; "" removes it.', helpValue: 'NAME' }),
  'node-selector': repeatedFlag({
    ...GROUP,
    summary: 'Set or remove a label of the node selector; repeatable or comma-separated.',
    helpValue: 'KEY=VALUE|KEY-',
  }),
};

export interface PoolFlags {
  label?: string[] | undefined;
  taint?: string[] | undefined;
  handler?: string | undefined;
  'node-selector'?: string[] | undefined;
  unmanaged?: 'Keep' | 'Remove' | undefined;
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
    ...(flags['node-selector'] ? { nodeSelector: parseLabels(flags['node-selector'], '--node-selector') } : {}),
    ...(flags.unmanaged ? { unmanaged: flags.unmanaged } : {}),
  };
}

/** The changes in the flags of edit. Throws a usage error that quotes the flag. */
export function editsFromFlags(flags: PoolFlags): SpecEdits {
  const taints = parseTaintEdits(flags.taint ?? []);
  return {
    labels: mapEdits(parseLabelEdits(flags.label ?? [])),
    nodeSelector: mapEdits(parseLabelEdits(flags['node-selector'] ?? [], '--node-selector')),
    setTaints: taints.set,
    removeTaints: taints.remove,
    handler: flags.handler,
    unmanaged: flags.unmanaged,
  };
}

function mapEdits({ set, remove }: ReturnType<typeof parseLabelEdits>): Record<string, string | null> {
  return { ...set, ...Object.fromEntries(remove.map(key => [key, null])) };
}
