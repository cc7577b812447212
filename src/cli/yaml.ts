/** Parses YAML and JSON text into documents, each with its position. */
import {
  boolYaml11Tag,
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  mergeTag,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';
import { checkExpanded, checkLength, TooLargeError } from '../nodepool/spec/text-limits.ts';

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
 * The non-empty documents of a text; a List yields its items. Throws an input error with line and column.
 * @param next the next step in errors; undefined if the caller opens the text again
 */
export function parseDocuments(text: string, name: string, next?: string): InputDocument[] {
  const source = sized(name, next, () => {
    checkLength(text);
    return separated(text.replace(MARKS, '$1'));
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

/** Byte order marks: at the start, and before or after a separator, where files were concatenated. */
const MARKS = /(^|\n---[^\n]*\n|\n(?=\uFEFF---))\uFEFF/g;

/** Each object takes a kilobyte of memory. */
const MAX_OBJECTS = 100_000;
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [34, 92, 123, 125];

/** Inserts YAML separators between consecutive JSON objects, as jq prints them. Line numbers stay the same. */
function separated(source: string): string {
  if (!/^\s*\{/.test(source)) return source;
  let [depth, start, text, objects] = [0, 0, '', 1];
  for (let at = 0; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === QUOTE) at = endOfString(source, at);
    else if (code === OPEN) {
      const between = depth === 0 && start > 0 ? source.slice(start, at) : undefined;
      if (between?.trim() === '') {
        // YAML requires the separator in the first column.
        if (++objects > MAX_OBJECTS) throw new TooLargeError(`the file has more than ${MAX_OBJECTS} objects`);
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

/** The index of the closing quote, or of the end of the text. */
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
    const split = next === undefined ? next : 'split the file';
    throw new NodepoolError('input', `${name} is too large: ${error.message}`, split, { cause: error });
  }
}

function parse(source: string, name: string, next: string | undefined): { values: unknown[]; events: Event[] } {
  try {
    const events = parseEvents(source, {});
    keepKeys(events, source);
    return { values: constructFromEvents(events, { source, schema: SCHEMA }), events };
  } catch (error) {
    // All errors of the parser are about the text; those about depth and alias limits are not YAMLExceptions.
    const { mark, reason } = error instanceof YAMLException ? error : { reason: String(error) };
    const place = mark === undefined ? name : `${name}:${mark.line + 1}:${mark.column + 1}`;
    throw new NodepoolError('input', `${place}: not valid YAML: ${reason}`, next, { cause: error });
  }
}

/** Returns a function from offset to line number; reads the text once. */
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
      `${place}: items: a ${kind} needs a list of objects here`,
      'write the objects under items',
    );
  }
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return undefined;
  return kind === 'NodePoolList' ? items.map(item => ofList(item, value)) : items;
}

/** An item may omit kind and apiVersion if its list names them. */
function ofList(item: unknown, { apiVersion }: { apiVersion?: unknown }): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item) || 'kind' in item) return item;
  return { apiVersion, kind: 'NodePool', ...item };
}

// YAML 1.1's booleans: values are parsed as kubectl does, keys stay as written.

const WORD = /^(?:y|n|yes|no|on|off)$/i;

/**
 * Marks plain keys such as `on` and `y` as quoted: kubectl, whose parser knows YAML 1.1's booleans, turns these label
 * keys into "true" and "false".
 */
function keepKeys(events: readonly Event[], source: string): void {
  /** For each open collection: whether its next event is a key. */
  const open: { isMapping: boolean; isKey: boolean }[] = [];
  for (const event of events) {
    const parent = open.at(-1);
    const isKey = parent?.isMapping === true && parent.isKey;
    if (event.type === EVENT_ID.POP) open.pop();
    else {
      if (parent !== undefined) parent.isKey = !parent.isKey;
      const isPlain = event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN;
      if (isPlain && isKey && WORD.test(getScalarValue(source, event))) event.style = SCALAR_STYLE.SINGLE_QUOTED;
      const isCollection = event.type !== EVENT_ID.SCALAR && event.type !== EVENT_ID.ALIAS;
      if (isCollection) open.push({ isMapping: event.type === EVENT_ID.MAPPING, isKey: true });
    }
  }
}

// Positions of a document's fields in its YAML text; computed only when a field is invalid.

/** Characters of a label key with its prefix and brackets; for a longer key, the position of its map is used. */
const MAX_STEP_LENGTH = 512;

interface YamlNode {
  /** The offset of the key; without a key, of the value. */
  offset: number;
  /** Keyed by the next step of a path: `.key` and `[key]`, `[0]`. */
  members: Map<string, YamlNode>;
}

/** @param at the index of the value's first event */
function readValue(events: readonly Event[], at: number, source: string): YamlNode {
  let index = at;
  return readNode(() => events[index++], source, 0) ?? { offset: 0, members: new Map() };
}

/**
 * The offset of a field, or of its nearest existing parent; for a field inside an alias, the offset of the alias.
 * @param path in the form used in errors: `spec.taints[0].key`, `spec.labels[a.b/c]`
 */
function offsetOf(path: string, root: YamlNode): number {
  let node = root;
  for (let rest = `.${path}`; ; ) {
    const step = longestStep(rest, node) ?? '';
    const member = node.members.get(step);
    if (member === undefined) return node.offset;
    node = member;
    rest = rest.slice(step.length);
  }
}

/** Keys may contain dots. */
function longestStep(rest: string, { members }: YamlNode): string | undefined {
  for (let end = Math.min(rest.length, MAX_STEP_LENGTH); end > 0; end--) {
    const next = rest[end];
    if (next !== undefined && next !== '.' && next !== '[') continue;
    const step = rest.slice(0, end);
    if (members.has(step)) return step;
  }
  return undefined;
}

/** Undefined if no value begins here. @param parent the parent's offset, for an empty value, which has none */
function startOf(event: Event | undefined, parent = 0): number | undefined {
  if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) return undefined;
  const found = 'start' in event ? event.start : 'valueStart' in event ? event.valueStart : event.anchorStart;
  return found < 0 ? parent : found;
}

/** @returns undefined at the end of the parent */
function readNode(next: () => Event | undefined, source: string, parent: number, event = next()): YamlNode | undefined {
  const offset = startOf(event, parent);
  if (event === undefined || offset === undefined) return undefined;
  const members = new Map<string, YamlNode>();
  if (event.type === EVENT_ID.MAPPING) {
    for (let key = next(); ; key = next()) {
      const at = readNode(next, source, offset, key)?.offset;
      if (at === undefined) break;
      const value = readNode(next, source, at);
      if (key?.type !== EVENT_ID.SCALAR || value === undefined) continue;
      const name = getScalarValue(source, key);
      for (const step of [`.${name}`, `[${name}]`]) members.set(step, { ...value, offset: at });
    }
  } else if (event.type === EVENT_ID.SEQUENCE) {
    for (let item = readNode(next, source, offset); item !== undefined; item = readNode(next, source, offset)) {
      members.set(`[${members.size}]`, item);
    }
  }
  return { offset, members };
}
