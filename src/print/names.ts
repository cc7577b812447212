/** Shortens names of nodes, pools and pods so that they stay distinguishable. */
import { isIP } from 'node:net';
import { andMore, plural } from '../nodepool/text.ts';
import { cut, cutMiddle, PLAIN, widthOf } from './width.ts';

/** A shorter tail would be useless. */
const LEAST_TAIL = 4;

/**
 * Cuts the names of a column. If possible, different names stay different: the distinctive part is kept, which is the
 * head of `ip-10-0-1-15.eu-west-1.compute.internal`, and head and tail of `gke-prod-europe-west4-8f3c1d2e-a1b2`.
 * @param names of the column: they determine how these and later names are cut
 */
export function cutNames(names: Iterable<string>, width: number): (name: string) => string {
  const cutOnes = [...new Set(names)].filter(name => widthOf(name) > width);
  const only = (shorten: (name: string) => string) => (name: string) => (widthOf(name) > width ? shorten(name) : name);
  if (cutOnes.length === 0 || width < 1 || !cutOnes.every(name => PLAIN.test(name)))
    return only(name => cut(name, width));
  let best = { shorten: (name: string) => cut(name, width), differing: 0 };
  for (const shorten of waysOf(cutOnes, width)) {
    const differing = new Set(cutOnes.map(shorten)).size;
    if (differing > best.differing) best = { shorten, differing };
    if (differing === cutOnes.length) break;
  }
  return only(best.shorten);
}

/** Ways to cut names, the most readable one first. */
function* waysOf(names: readonly string[], width: number): Generator<(name: string) => string> {
  const domain = sharedDomain(names.filter(name => name.includes('.')));
  const hasDomain = (name: string) => domain !== '' && name.endsWith(domain);
  const host = (name: string) => `${name.slice(0, name.length - domain.length)}…`;
  if (names.filter(hasDomain).every(name => host(name).length <= width)) {
    yield name => (hasDomain(name) ? host(name) : cutMiddle(name, width));
  }
  yield name => cutMiddle(name, width);
  yield name => cut(name, width);
  for (let tail = LEAST_TAIL; tail < width; tail++) {
    yield name => `${name.slice(0, width - 1 - tail)}…${name.slice(name.length - tail)}`;
  }
  // Long names differ in the middle.
  const shared = sharedStart(names);
  yield name => cut(`…${name.slice(shared)}`, width);
  yield name => cutMiddle(`…${name.slice(shared)}`, width);
}

/** The domain at the end of all these names, including its dot; empty if there is none. */
function sharedDomain(names: readonly string[]): string {
  const reversed = names.map(name => [...name].reverse().join(''));
  const end = [...(reversed[0] ?? '').slice(0, sharedStart(reversed))].reverse().join('');
  const dot = end.indexOf('.');
  return dot < 0 ? '' : end.slice(dot);
}

/** The length of the prefix that all names share. */
export function sharedStart(names: readonly string[]): number {
  const [first = '', ...others] = names;
  let length = first.length;
  for (const name of others) while (!name.startsWith(first.slice(0, length))) length--;
  return length;
}

// Names in sentences.

const MAX_NAMED = 3;
/** Maximum characters of names in a sentence. */
const MAX_NAMES_LENGTH = 80;

/** Leaves out the domain of names that differ without it: `ip-10-0-1-15…`. @param names of the screen */
export function shortNames(names: Iterable<string>): (name: string) => string {
  const hosts = Map.groupBy(new Set(names), withoutDomain);
  return name => (hosts.get(withoutDomain(name))?.length === 1 ? withoutDomain(name) : name);
}

function withoutDomain(name: string): string {
  return isIP(name) ? name : name.replace(/(?<=[^.])\..*$/s, '…');
}

/** `a, b, c and 22 more`; fewer names if they are long. A single name is not shortened. */
export function namesText(names: readonly string[], short = shortNames(names)): string {
  if (names.length === 1) return names.join();
  const shown = names.slice(0, MAX_NAMED).map(short);
  while (shown.length > 1 && shown.join(', ').length > MAX_NAMES_LENGTH) shown.pop();
  return shown.join(', ') + andMore(names.length - shown.length, ' ');
}

/** `3 nodes (a, b, c)`, `25 nodes (a, b, c and 22 more)` */
export function nodesText(names: readonly string[], short?: (name: string) => string): string {
  return `${plural(names.length, 'node')}${names.length === 0 ? '' : ` (${namesText(names, short)})`}`;
}
