/** YAML and JSON text into documents, each with its position. */
import { CORE_SCHEMA, constructFromEvents, EVENT_ID, type Event, mergeTag, parseEvents, YAMLException } from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';
import { offsetOf, readValue, startOf } from './yaml-places.ts';

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
  const source = separated(text.replace(/^\uFEFF/, ''));
  const { values, events } = parse(source, name, next);
  const starts = [...events.keys()].filter(index => events[index]?.type === EVENT_ID.DOCUMENT);
  const documents: InputDocument[] = [];
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) continue;
    const first = (starts[i] ?? 0) + 1;
    const place = (offset = 0) => `${name}:${lineOf(source, offset)}`;
    const begin = place(startOf(events[first]));
    const add = (item: unknown, prefix: string, suffix: string) => {
      const placeOf = (field: string) =>
        place(offsetOf(`${prefix}${field}`, readValue(events, first, source))) + suffix;
      documents.push({ value: item, source: begin + suffix, placeOf });
    };
    const items = listItems(value, begin);
    if (items === undefined) add(value, '', '');
    else for (const [n, item] of items.entries()) add(item, `items[${n}].`, ` items[${n}]`);
  }
  return documents;
}

/** JSON objects that follow each other, as jq writes them, get the separator that YAML wants; no line is added between lines. */
function separated(source: string): string {
  if (!/^\s*\{/.test(source)) return source;
  let [depth, start, text] = [0, 0, ''];
  for (const { 0: token, index } of source.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    const between = source.slice(start, index);
    if (token === '{' && depth === 0 && start > 0 && between.trim() === '') {
      // In the first column, or it is no separator.
      text += `${between.slice(0, between.lastIndexOf('\n') + 1) || '\n'}--- `;
      start = index;
    }
    if (token === '{') depth++;
    if (token === '}' && --depth === 0) {
      text += source.slice(start, index + 1);
      start = index + 1;
    }
  }
  return text + source.slice(start);
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

function lineOf(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++;
  return line;
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
