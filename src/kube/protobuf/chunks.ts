/** Bytes that come piece by piece. Copied is only what lies across two pieces. */
import { MOST_PIECES } from '../wire.ts';

export interface Used {
  /** Bytes from the start that are done with. */
  used: number;
  /** How many from there on have to be there for anything more to be read: at least one more than are there. */
  needed: number;
}

export class Chunks {
  readonly #read: (bytes: Buffer) => Used;
  #pieces: Buffer[] = [];
  #length = 0;
  #needed = 1;
  /** What lies across two pieces, one after the other. */
  #joined = Buffer.alloc(0);

  /** @param read takes what it can from the start of the bytes, which are not its to keep */
  constructor(read: (bytes: Buffer) => Used) {
    this.#read = read;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    // The end of what lies across, one step for its head and one for its body.
    while (this.#length > 0 && this.#length + rest.length >= this.#needed) {
      const missing = this.#needed - this.#length;
      this.#take(this.#join(rest.subarray(0, missing)));
      rest = rest.subarray(missing);
    }
    if (this.#length === 0) this.#take(rest);
    else this.#keep(rest);
  }

  /** What has come and was not used. */
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
    // A piece may lie in there itself, from the last time: copy() moves it.
    for (const piece of [...this.#pieces, last]) at += piece.copy(this.#joined, at);
    return this.#joined.subarray(0, at);
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#pieces.push(piece) > MOST_PIECES) throw new Error(`a message came in more than ${MOST_PIECES} pieces`);
    this.#length += piece.length;
  }
}
