/** Bytes that come piece by piece. Copied is only what lies across two pieces. */

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

  /** @param read takes what it can from the start of the bytes */
  constructor(read: (bytes: Buffer) => Used) {
    this.#read = read;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    // The end of what lies across, one step for its head and one for its body.
    while (this.#length > 0 && this.#length + rest.length >= this.#needed) {
      const missing = this.#needed - this.#length;
      this.#take(Buffer.concat([...this.#pieces, rest.subarray(0, missing)]));
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

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
  }
}
