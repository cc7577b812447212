/** Parses YAML and JSON text into documents, each with its position. */
import {
  boolYaml11Tag,
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  mergeTag,
  parseEvents,
  YAMLException,
} from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';
import { checkExpanded, checkLength, TooLargeError } from '../nodepool/text-limits.ts';
import { keepKeys } from './yaml-booleans.ts';
import { offsetOf, readValue, startOf, type YamlNode } from './yaml-places.ts';

export interface InputDocument {
  value: unknown;
  /** For messages: `pools.yaml:12`, and `pools.yaml:12 items[3]` for an item of a List. */
  source: string;
  /** The position of a field, by its path as errors name it: `pools.yaml:14`. */
  placeOf(field: string): string;
}

/** As kubectl's parser: YAML 1.2 (a superset of JSON) with the merge key `<<` and YAML 1.1's booleans (yes, on, y). */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag, boolYaml11Tag);

/**
 * The documents of a text, without empty ones; a List gives its items. Throws an input error with line and column.
 * @param next the next step in errors; undefined where the caller opens the text again
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

/** Each takes a kilobyte of memory. */
const MAX_OBJECTS = 100_000;
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [34, 92, 123, 125];

/** Puts YAML's separator between JSON objects that follow each other, as jq prints them. Line numbers stay the same. */
function separated(source: string): string {
  if (!/^\s*\{/.test(source)) return source;
  let [depth, start, text, objects] = [0, 0, '', 1];
  for (let at = 0; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === QUOTE) at = endOfString(source, at);
    else if (code === OPEN) {
      const between = depth === 0 && start > 0 ? source.slice(start, at) : undefined;
      if (between?.trim() === '') {
        // A separator is in the first column.
        if (++objects > MAX_OBJECTS) throw new TooLargeError(`it has more than ${MAX_OBJECTS} objects`);
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

/** The index of the closing quote, or the end of the text. */
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
    keepKeys(events, source);
    return { values: constructFromEvents(events, { source, schema: SCHEMA }), events };
  } catch (error) {
    // All errors of the parser are about the text; those of depth and alias limits are no YAMLExceptions.
    const { mark, reason } = error instanceof YAMLException ? error : { reason: String(error) };
    const place = mark === undefined ? name : `${name}:${mark.line + 1}:${mark.column + 1}`;
    throw new NodepoolError('input', `${place}: not valid YAML: ${reason}`, next, { cause: error });
  }
}

/** Returns the line of an offset; reads the text once. */
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
