/** Labels that a selector nearly matches: the value or key is spelled a little differently. */
import { ownValue } from '../json.ts';
import { suggest } from '../text.ts';
import { meetsNode } from './label-query.ts';
import { needsLabel, type SelectorPart } from './selector.ts';

export interface NearMiss {
  key: string;
  value: string;
}

/** The label of a node that nearly meets a requirement which the node does not meet. */
export function nearMiss(part: SelectorPart, labels: Readonly<Record<string, string>>): NearMiss | undefined {
  if (!needsLabel(part)) return undefined;
  const live = ownValue(labels, part.key);
  if (live !== undefined) return isNearValue(part, live) ? { key: part.key, value: live } : undefined;
  const key = similarKey(part.key, Object.keys(labels));
  const value = key === undefined ? undefined : ownValue(labels, key);
  return key === undefined || value === undefined ? undefined : { key, value };
}

/** Whether a node that does not match would do so if similar labels were equal. */
export function almostMatches(parts: readonly SelectorPart[], labels: Readonly<Record<string, string>>): boolean {
  const unmet = parts.filter(part => !meetsNode(part, ownValue(labels, part.key)));
  return unmet.length > 0 && unmet.every(part => nearMiss(part, labels) !== undefined);
}

/** Whether a value that does not meet the requirement is spelled similarly to one that does. */
export function isNearValue({ operator, values = [] }: SelectorPart, live: string): boolean {
  return operator === 'In' && (suggest(live, values) !== undefined || values.some(value => suggest(value, [live])));
}

/** Compared part by part: with the long prefix, every other role would be similar to a mistyped one. */
export function similarKey(key: string, keys: readonly string[]): string | undefined {
  const [prefix, name] = splitKey(key);
  const withPrefix = keys.filter(other => splitKey(other)[0] === prefix);
  const similar = suggest(
    name,
    withPrefix.map(other => splitKey(other)[1]),
  );
  if (similar !== undefined) return withPrefix.find(other => splitKey(other)[1] === similar);
  const withName = keys.filter(other => splitKey(other)[1] === name);
  const meant = suggest(
    prefix,
    withName.map(other => splitKey(other)[0]),
  );
  // If either side has no prefix, any key of that name.
  return withName.find(other => [meant, ''].includes(splitKey(other)[0])) ?? (prefix === '' ? withName[0] : undefined);
}

function splitKey(key: string): [prefix: string, name: string] {
  const at = key.indexOf('/');
  return [key.slice(0, Math.max(at, 0)), key.slice(at + 1)];
}
