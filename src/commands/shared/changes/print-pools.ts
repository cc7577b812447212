import type { SpecChange } from '../../../nodepool/spec/edits.ts';
import { plural } from '../../../nodepool/text.ts';
import { shorten } from '../../../print/cells.ts';
import { printCompactJson } from '../../../print/printers.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import type { AppliedPool } from './applied.ts';

/** Maximum characters of a value. */
const MAX_VALUE = 80;

/** `~ spec.labels[tier]: gold -> silver` */
export function specChangeText({ path, from, to }: SpecChange): string {
  if (from === undefined) return `+ ${path}: ${valueText(to)}`;
  return to === undefined ? `- ${path}: ${valueText(from)}` : `~ ${path}: ${valueText(from)} -> ${valueText(to)}`;
}

function valueText(value: unknown): string {
  return shorten(typeof value === 'string' && value !== '' ? value : printCompactJson(value), MAX_VALUE);
}

/** A line for each field, in the format that `diff` uses for nodes. */
export function specChangeLines(changes: readonly SpecChange[], style: Style): string[] {
  return changes.map(change => {
    const paint = change.from === undefined ? style.green : change.to === undefined ? style.red : style.yellow;
    return `  ${paint(sanitizeLine(specChangeText(change)))}`;
  });
}

/** Empty if no pool changes. */
export function renderPools(pools: readonly AppliedPool[], style: Style): string {
  const changed = pools.filter(isChanged);
  const sections = changed.map(({ pool: { metadata }, source, isNew, changes }) => {
    const head = sanitizeLine(`${isNew ? '+' : '~'} pool ${metadata.name} (${isNew ? 'new; ' : ''}${source})`);
    return [style.bold(head), ...specChangeLines(changes, style)].join('\n');
  });
  const made = changed.filter(({ isNew }) => isNew).length;
  const counts = [
    ...(made > 0 ? [`${plural(made, 'pool')} would be created`] : []),
    ...(changed.length > made ? [`${plural(changed.length - made, 'pool')} would change`] : []),
  ];
  return [...sections, ...(counts.length > 0 ? [counts.join('; ')] : [])].join('\n\n');
}

export function isChanged({ isNew, changes }: AppliedPool): boolean {
  return isNew || changes.length > 0;
}
