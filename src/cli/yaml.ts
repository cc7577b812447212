/** YAML and JSON text into documents, each with its position. */
import { CORE_SCHEMA, constructFromEvents, EVENT_ID, type Event, mergeTag, parseEvents, YAMLException } from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';
import { checkExpanded, checkLength, TooLargeError } from '../nodepool/text-limits.ts';
import { offsetOf, readValue, startOf, type YamlNode } from './yaml-places.ts';

export interface InputDocument {
  value: unknown;
  /** For messages: `pools.yaml:12`, and `pools.yaml:12 items[3]` for an item of a List. */
  source: string;
  /** The same of one of its fields, by its path as errors have it: `pools.yaml:14`. */
  placeOf(field: string): string;
}

/** YAML 1.2 (a superset of JSON) with the merge key `<<`, which kubectl's parser has too. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/**
 * The documents of a text. Empty ones are left out, Lists are taken apart. Throws an input error with line and column.
 * @param next what to do about text that is not YAML; nothing where it opens again by itself
 */
export function parseDocuments(text: string, name: string, next?: string): InputDocument[] {
  const source = sized(name, next, () => {
    checkLength(text);
    return separated(text.replace(/^\uFEFF/, ''));
  });
  const { values, events } = parse(source, name, next);
  if (events.some(({ type }) => type === EVENT_ID.ALIAS)) sized(name, next, () => checkExpanded(values));
  const lineOf = lineFinder(source);
  const starts = [...events.keys()].filter(index => events[index]?.type === EVENT_ID.DOCUMENT);
  const documents: InputDocument[] = [];
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) continue;
    const first = (starts[i] ?? 0) + 1;
    const place = (offset = 0) => `${name}:${lineOf(offset)}`;
    const begin = place(startOf(events[first]));
    let root: YamlNode | undefined;
    const add = (item: unknown, prefix: string, suffix: string) => {
      const placeOf = (field: string) => {
        root ??= readValue(events, first, source);
        return place(offsetOf(`${prefix}${field}`, root)) + suffix;
      };
      documents.push({ value: item, source: begin + suffix, placeOf });
    };
    const items = listItems(value, begin);
    if (items === undefined) add(value, '', '');
    else for (const [n, item] of items.entries()) add(item, `items[${n}].`, ` items[${n}]`);
  }
  return documents;
}

/** Each takes a kilobyte of memory, however short it is. */
const MOST_OBJECTS = 100_000;
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [34, 92, 123, 125];

/** JSON objects that follow each other, as jq writes them, get the separator that YAML wants; no line is added between lines. */
function separated(source: string): string {
  if (!/^\s*\{/.test(source)) return source;
  let [depth, start, text, objects] = [0, 0, '', 1];
  for (let at = 0; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === QUOTE) at = endOfString(source, at);
    else if (code === OPEN) {
      const between = depth === 0 && start > 0 ? source.slice(start, at) : undefined;
      if (between?.trim() === '') {
        // In the first column, or it is no separator.
        if (++objects > MOST_OBJECTS) throw new TooLargeError(`it has more than ${MOST_OBJECTS} objects`);
        text += `${between.slice(0, between.lastIndexOf('\n') + 1) || '\n'}--- `;
        start = at;
      }
      depth++;
    } else if (code === CLOSE && --depth === 0) {
      text += source.slice(start, at + 1);
      start = at + 1;
    }
  }
  return text + source.slice(start);
}

/** Where the quote is that closes the string; the end of the text where none does. */
function endOfString(source: string, open: number): number {
  for (let at = open + 1; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return source.length;
}

function sized<T>(name: string, next: string | undefined, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    const split = next === undefined ? next : 'split it into several files';
    throw new NodepoolError('input', `${name} is too large: ${error.message}`, split, { cause: error });
  }
}

function parse(source: string, name: string, next: string | undefined): { values: unknown[]; events: Event[] } {
  try {
    const events = parseEvents(source, {});
    return { values: constructFromEvents(events, { source, schema: SCHEMA }), events };
  } catch (error) {
    // Whatever the parser throws is about the text: limits of depth and aliases are not YAMLExceptions.
    const { mark, reason } = error instanceof YAMLException ? error : { reason: String(error) };
    const place = mark === undefined ? name : `${name}:${mark.line + 1}:${mark.column + 1}`;
    throw new NodepoolError('input', `${place}: not valid YAML: ${reason}`, next, { cause: error });
  }
}

/** Gives the line of an offset; the text is gone through once. */
function lineFinder(source: string): (offset: number) => number {
  const ends: number[] = [];
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) ends.push(at);
  return offset => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}

/** The items of a List of any kind (`kubectl get -o yaml` prints kind List). */
function listItems(value: unknown, place: string): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  if ((kind === 'List' || kind === 'NodePoolList') && !Array.isArray(items)) {
    throw new NodepoolError(
      'input',
      `${place}: items: a ${kind} has a list of objects there`,
      'write them under items',
    );
  }
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : undefined;
}
