/** YAML and JSON text into documents, each with its position. */
import { CORE_SCHEMA, constructFromEvents, EVENT_ID, type Event, mergeTag, parseEvents, YAMLException } from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';

export interface InputDocument {
  value: unknown;
  /** For messages: `pools.yaml:12`, and `pools.yaml:12 items[3]` for an item of a List. */
  source: string;
}

/** YAML 1.2 (a superset of JSON) with the merge key `<<`, which kubectl's parser has too. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/**
 * The documents of a text. Empty ones are left out, Lists are taken apart. Throws an input error with line and column.
 * @param next what to do about text that is not YAML; nothing where it opens again by itself
 */
export function parseDocuments(text: string, name: string, next?: string): InputDocument[] {
  const source = text.replace(/^\uFEFF/, '');
  const { values, starts } = parse(source, name, next);
  const documents: InputDocument[] = [];
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) continue;
    const place = `${name}:${lineOf(source, starts[i] ?? 0)}`;
    const items = listItems(value);
    if (items === undefined) documents.push({ value, source: place });
    else documents.push(...items.map((item, n) => ({ value: item, source: `${place} items[${n}]` })));
  }
  return documents;
}

function parse(source: string, name: string, next: string | undefined): { values: unknown[]; starts: number[] } {
  try {
    const events = parseEvents(source, {});
    return { values: constructFromEvents(events, { source, schema: SCHEMA }), starts: documentStarts(events) };
  } catch (error) {
    // Whatever the parser throws is about the text: limits of depth and aliases are not YAMLExceptions.
    const { mark, reason } = error instanceof YAMLException ? error : { reason: String(error) };
    const place = mark === undefined ? name : `${name}:${mark.line + 1}:${mark.column + 1}`;
    throw new NodepoolError('input', `${place}: not valid YAML: ${reason}`, next, { cause: error });
  }
}

/** The offset of each document's first node. */
function documentStarts(events: Event[]): number[] {
  const starts: number[] = [];
  for (const [i, event] of events.entries()) {
    if (event.type !== EVENT_ID.DOCUMENT) continue;
    const first = events[i + 1];
    starts.push(first !== undefined && 'start' in first ? first.start : 0);
  }
  return starts;
}

function lineOf(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++;
  return line;
}

/** The items of a List of any kind (`kubectl get -o yaml` prints kind List). */
function listItems(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : undefined;
}
