/** Reads a protobuf list item by item as it arrives: of 44 MB of nodes, only one node is in memory. */

import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { countWatched } from '../../controller/collect.ts';
import { MAX_ANSWER_LENGTH, MAX_OBJECT_LENGTH } from '../wire.ts';
import { decodeListMeta, hasMagic, type ListMeta, MAGIC_BYTES } from './objects.ts';

/** Maximum length of a field's tag and length. */
const HEAD_BYTES = 10;
/** Bytes to collect before items are decoded: servers send half a node at a time. */
const BLOCK_BYTES = 128 * 1024;
/** Fields of the envelope (runtime.Unknown) and of the list. */
const [ENVELOPE_RAW, LIST_META, LIST_ITEM] = [2, 1, 2];

export interface ListHandler {
  /** Called with the message of each item; must not retain the bytes. */
  onItem: (raw: Uint8Array) => unknown;
  /** Called with the ListMeta, which comes before the items. */
  onMeta?: ((meta: ListMeta) => void) | undefined;
}

export class ListReader {
  readonly #handler: ListHandler;
  readonly #chunks = new ChunkBuffer(bytes => this.#read(bytes, HEAD_BYTES), BLOCK_BYTES);
  #state: 'start' | 'envelope' | 'list' | 'other' = 'start';
  /** Bytes of the list that have not been read; undefined before the list starts. */
  #missingBytes: number | undefined;
  #meta: ListMeta = {};

  constructor(handler: ListHandler) {
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  /** Call this after the last chunk. Returns a body that is not protobuf unchanged. Throws if the list is cut off. */
  end(): { kind: 'list'; meta: ListMeta } | { kind: 'other'; body: Buffer } {
    const unread = this.#chunks.rest();
    const rest = unread.subarray(this.#read(unread, 1).used);
    if (this.#state === 'other' || this.#state === 'start') return { kind: 'other', body: rest };
    if (rest.length > 0 || this.#missingBytes !== 0) throw new Error('the list ended early');
    return { kind: 'list', meta: this.#meta };
  }

  /** @param ahead bytes required to read the head of a field; fewer only at the end */
  #read(bytes: Buffer, ahead: number): ConsumedBytes {
    let at = 0;
    if (this.#state === 'start') {
      if (bytes.length < MAGIC_BYTES) return { used: 0, needed: MAGIC_BYTES };
      this.#state = hasMagic(bytes) ? 'envelope' : 'other';
      if (this.#state === 'envelope') at = MAGIC_BYTES;
    }
    if (this.#state === 'other') {
      if (bytes.length > MAX_ANSWER_LENGTH) throw new Error(`the answer has more than ${MAX_ANSWER_LENGTH} bytes`);
      return { used: 0, needed: MAX_ANSWER_LENGTH + 1 };
    }
    while (bytes.length >= at + ahead) {
      const { field, start, length } = headAt(bytes, at);
      if (this.#state === 'envelope' && field === ENVELOPE_RAW) {
        this.#begin(length);
        at = start;
        continue;
      }
      if (length > MAX_OBJECT_LENGTH) throw new Error(`an item of the list has more than ${MAX_OBJECT_LENGTH} bytes`);
      const end = start + length;
      if (bytes.length < end) return { used: at, needed: end - at };
      if (this.#state === 'list') this.#take(field, bytes.subarray(start, end), end - at);
      at = end;
    }
    return { used: at, needed: ahead };
  }

  #begin(length: number): void {
    this.#missingBytes = length;
    if (length > 0) this.#state = 'list';
  }

  #take(field: number, message: Buffer, size: number): void {
    if (field === LIST_META) {
      this.#meta = decodeListMeta(message);
      this.#handler.onMeta?.(this.#meta);
    } else if (field === LIST_ITEM) this.#handler.onItem(message);
    this.#missingBytes = (this.#missingBytes ?? 0) - size;
    if (this.#missingBytes === 0) this.#state = 'envelope';
  }
}

/** The field at this position: number, start and length of its content. */
function headAt(bytes: Buffer, at: number): { field: number; start: number; length: number } {
  const tag = varintAt(bytes, at);
  const length = varintAt(bytes, tag.end);
  return { field: tag.value >>> 3, start: length.end, length: length.value };
}

/** A varint: seven bits a byte, lowest first; the eighth bit is set in all bytes except the last. */
function varintAt(bytes: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  for (let at = start, weight = 1; at < start + HEAD_BYTES / 2; at++, weight *= 128) {
    const byte = bytes[at];
    if (byte === undefined) throw new Error('the list ended early');
    value += (byte & 127) * weight;
    if (byte < 128) return { value, end: at + 1 };
  }
  throw new RangeError('a field has a head that is too long');
}

// Joins the chunks for a parser in one buffer: views of thousands of chunks cost more than a copy.

export interface ConsumedBytes {
  /** Bytes consumed from the start. */
  used: number;
  /** Bytes required after `used` to read more: at least one more than available. */
  needed: number;
}

class ChunkBuffer {
  readonly #read: (bytes: Buffer) => ConsumedBytes;
  /** Minimum number of bytes for a call of #read. */
  readonly #worth: number;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #needed: number;

  /** @param read consumes bytes from the start, and must not retain them @param worth minimum bytes for a call */
  constructor(read: (bytes: Buffer) => ConsumedBytes, worth = 1) {
    this.#read = read;
    this.#worth = worth;
    this.#needed = worth;
  }

  push(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#buffer.length < length) this.#grow(Math.max(length, this.#worth) * 2);
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    if (length >= this.#needed) this.#take();
  }

  rest(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #take(): void {
    const { used, needed } = this.#read(this.rest());
    this.#buffer.copyWithin(0, used, this.#length);
    this.#length -= used;
    this.#needed = Math.max(needed, this.#worth);
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

// The frames of a watch in protobuf: a length in four bytes, then the message.

const LENGTH_BYTES = 4;

/** Resolves at the end of the response. Throws if it breaks, is cut off in a frame, or a frame is too long. */
export async function readFrames(response: IncomingMessage, onFrame: (frame: Buffer) => void): Promise<void> {
  const chunks = new ChunkBuffer((bytes): ConsumedBytes => {
    let at = 0;
    while (bytes.length >= at + LENGTH_BYTES) {
      const length = bytes.readUInt32BE(at);
      if (length > MAX_OBJECT_LENGTH) throw new Error(`a frame has more than ${MAX_OBJECT_LENGTH} bytes`);
      const end = at + LENGTH_BYTES + length;
      if (bytes.length < end) return { used: at, needed: end - at };
      onFrame(bytes.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    return { used: at, needed: LENGTH_BYTES };
  });
  // An async iterator would delay each event by two more ticks.
  response.on('data', (chunk: Buffer) => {
    try {
      chunks.push(chunk);
      countWatched(chunk.length);
    } catch (error) {
      response.destroy(error as Error);
    }
  });
  await finished(response);
  if (chunks.rest().length > 0) throw new Error('the answer broke off inside a frame');
}
