/** A parser's input that arrives in chunks. Copies only messages that span chunks. */
import { MAX_PIECES } from '../wire.ts';

export interface Used {
  /** Bytes consumed from the start. */
  used: number;
  /** Bytes required after those to read more: at least one more than there are. */
  needed: number;
}

export class Chunks {
  readonly #read: (bytes: Buffer) => Used;
  #pieces: Buffer[] = [];
  #length = 0;
  #needed = 1;
  /** Buffer for messages that span chunks. */
  #joined = Buffer.alloc(0);

  /** @param read consumes what it can from the start of the bytes, and must not retain them */
  constructor(read: (bytes: Buffer) => Used) {
    this.#read = read;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    // Complete the message that spans chunks: first its head, then its body.
    while (this.#length > 0 && this.#length + rest.length >= this.#needed) {
      const missing = this.#needed - this.#length;
      this.#take(this.#join(rest.subarray(0, missing)));
      rest = rest.subarray(missing);
    }
    if (this.#length === 0) this.#take(rest);
    else this.#keep(rest);
  }

  /** The bytes that are not consumed. */
  rest(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  #take(bytes: Buffer): void {
    const { used, needed } = this.#read(bytes);
    [this.#pieces, this.#length, this.#needed] = [[], 0, needed];
    this.#keep(bytes.subarray(used));
  }

  #join(last: Buffer): Buffer {
    if (this.#joined.length < this.#needed) this.#joined = Buffer.allocUnsafe(this.#needed * 2);
    let at = 0;
    // A piece may be part of #joined itself: copy() handles the overlap.
    for (const piece of [...this.#pieces, last]) at += piece.copy(this.#joined, at);
    return this.#joined.subarray(0, at);
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#pieces.push(piece) > MAX_PIECES) throw new Error(`a message came in more than ${MAX_PIECES} pieces`);
    this.#length += piece.length;
  }
}
