/**
 * Reads protobuf messages by schemas that name only the fields that are used; all others are skipped unread. What comes
 * out is what JSON.parse gives of the same object, less those fields. Zero values are left out: protobuf has them where
 * JSON omits what is empty.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { timestamp } from '../../nodepool/timestamp.ts';

/** Wire type of strings, bytes and messages. */
const LENGTH_DELIMITED = 2;

export type Read = (reader: BinaryReader) => unknown;

interface Field {
  name: string;
  read: Read;
  /** As one of many, or by its key (then it is read by entry()). */
  repeated?: 'list' | 'map';
}

/** By the number of the field. */
export type Schema = Readonly<Record<number, Field>>;

/** A message that must be known whole has a field that is not in its schema: a server newer than this program. */
export class UnknownFieldError extends Error {
  override readonly name = 'UnknownFieldError';
}

/** @throws when the message is cut off or malformed, or with UnknownFieldError */
export function decode(schema: Schema, bytes: Uint8Array): object {
  const reader = new BinaryReader(bytes);
  return readFields(schema, reader, reader.len);
}

export const text: Read = reader => reader.string();
export const bool: Read = reader => reader.bool();
export const int32: Read = reader => reader.int32();
export const bytes: Read = reader => reader.bytes();

export function message(schema: Schema): Read {
  return reader => readFields(schema, reader, endOf(reader));
}

/** As message, for one that is written back: a field that is not in its schema would be lost. */
export function wholeMessage(what: string, schema: Schema): Read {
  return reader => readFields(schema, reader, endOf(reader), what);
}

/** A message around a single field, its first, of which only that is kept. */
export function around(read: Read): Read {
  const schema = { 1: { name: 'value', read } };
  return reader => (readFields(schema, reader, endOf(reader)) as { value?: unknown }).value;
}

interface Entry {
  key?: string;
  value?: unknown;
}

/** Of a field that is `repeated: 'map'`. */
export function entry(read: Read): Read {
  return message({ 1: { name: 'key', read: text }, 2: { name: 'value', read } });
}

/** meta/v1 Time as JSON writes it, to the second; an empty one is no time. */
export function time(reader: BinaryReader): string | undefined {
  const seconds = secondsOf(reader);
  return seconds === undefined ? undefined : timestamp(new Date(Number(seconds) * 1000));
}
const secondsOf = around(reader => reader.int64());

/** @param whole what it is, when it must be known whole */
function readFields(schema: Schema, reader: BinaryReader, end: number, whole?: string): object {
  const object: Record<string, unknown> = {};
  while (reader.pos < end) {
    const tag = reader.uint32();
    const number = tag >>> 3;
    const field = schema[number];
    if (field !== undefined) readInto(object, field, reader);
    else if (whole !== undefined)
      throw new UnknownFieldError(`${whole} has a field ${number}, which is not known: it is read as JSON`);
    else skip(reader, number, tag & 7);
  }
  if (reader.pos !== end) throw new RangeError('a field is longer than the message that it is in');
  return object;
}

function readInto(object: Record<string, unknown>, { name, read, repeated }: Field, reader: BinaryReader): void {
  const value = read(reader);
  if (repeated === undefined) {
    if (value !== '' && value !== 0 && value !== false && value !== undefined) object[name] = value;
    return;
  }
  object[name] ??= repeated === 'list' ? [] : {};
  if (repeated === 'list') (object[name] as unknown[]).push(value);
  else {
    const { key = '', value: item = '' } = value as Entry;
    (object[name] as Record<string, unknown>)[key] = item;
  }
}

/** Where the message that comes next ends. */
function endOf(reader: BinaryReader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a message is longer than what has come of it');
  return end;
}

/** As the reader's own, which makes a view of all it skips: 50 images and the managed fields of every node. */
function skip(reader: BinaryReader, number: number, wireType: number): void {
  if (wireType === LENGTH_DELIMITED) reader.pos = endOf(reader);
  else reader.skip(wireType, number);
}
