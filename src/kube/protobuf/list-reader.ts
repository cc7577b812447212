/** A list in protobuf, read while it comes: of 44 MB of nodes only the one that is being read is held. */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { LONGEST_OBJECT } from '../wire.ts';
import { Chunks } from './chunks.ts';
import { decodeListMeta, hasMagic, type ListMeta, MAGIC_BYTES } from './objects.ts';

/** At most, of a field's tag and its length. */
const HEAD_BYTES = 10;
/** Fields of the envelope and of the list in it. */
const [ENVELOPE_RAW, LIST_META, LIST_ITEM] = [2, 1, 2];

export class ListReader {
  readonly #onItem: (raw: Uint8Array) => void;
  readonly #chunks = new Chunks();
  #state: 'start' | 'envelope' | 'list' | 'other' = 'start';
  /** Bytes of the list that have not been read; undefined before it begins. */
  #left: number | undefined;
  #meta: ListMeta = {};

  /** @param onItem gets the message of each item; the bytes are not its to keep */
  constructor(onItem: (raw: Uint8Array) => void) {
    this.#onItem = onItem;
  }

  push(chunk: Buffer): void {
    const bytes = this.#chunks.push(chunk);
    if (bytes !== undefined) this.#read(bytes, HEAD_BYTES);
  }

  /** To be called after the last chunk. What does not begin as protobuf comes back as it is. Throws when it is cut off. */
  end(): { kind: 'list'; meta: ListMeta } | { kind: 'other'; body: Buffer } {
    this.#read(this.#chunks.rest(), 1);
    const rest = this.#chunks.rest();
    if (this.#state === 'other' || this.#state === 'start') return { kind: 'other', body: rest };
    if (rest.length > 0 || this.#left !== 0) throw new Error('the list broke off');
    return { kind: 'list', meta: this.#meta };
  }

  /** @param ahead bytes that have to be there for a head to be read: fewer only where no more come */
  #read(all: Buffer, ahead: number): void {
    let bytes = all;
    if (this.#state === 'start' && bytes.length >= MAGIC_BYTES) {
      this.#state = hasMagic(bytes) ? 'envelope' : 'other';
      if (this.#state === 'envelope') bytes = bytes.subarray(MAGIC_BYTES);
    }
    let needed = this.#state === 'other' ? Number.POSITIVE_INFINITY : ahead;
    while ((this.#state === 'envelope' || this.#state === 'list') && bytes.length >= ahead) {
      const { field, start, length } = headOf(bytes);
      if (this.#state === 'envelope' && field === ENVELOPE_RAW) {
        this.#begin(length);
        bytes = bytes.subarray(start);
        continue;
      }
      if (length > LONGEST_OBJECT) throw new Error(`an item of the list has more than ${LONGEST_OBJECT} bytes`);
      needed = start + length;
      if (bytes.length < needed) break;
      if (this.#state === 'list') this.#take(field, bytes.subarray(start, needed), needed);
      bytes = bytes.subarray(needed);
      needed = ahead;
    }
    this.#chunks.keep(bytes, needed);
  }

  #begin(length: number): void {
    this.#left = length;
    if (length > 0) this.#state = 'list';
  }

  #take(field: number, message: Buffer, size: number): void {
    if (field === LIST_META) this.#meta = decodeListMeta(message);
    else if (field === LIST_ITEM) this.#onItem(message);
    this.#left = (this.#left ?? 0) - size;
    if (this.#left === 0) this.#state = 'envelope';
  }
}

function headOf(bytes: Buffer): { field: number; start: number; length: number } {
  const reader = new BinaryReader(bytes);
  const field = reader.uint32() >>> 3;
  const length = reader.uint32();
  return { field, start: reader.pos, length };
}
