/** A parser's input that arrives in chunks, joined in one buffer: views of thousands of chunks cost more than a copy. */

export interface Used {
  /** Bytes consumed from the start. */
  used: number;
  /** Bytes required after those to read more: at least one more than there are. */
  needed: number;
}

export class Chunks {
  readonly #read: (bytes: Buffer) => Used;
  /** Bytes that are worth a call of #read. */
  readonly #worth: number;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #needed: number;

  /**
   * @param read consumes what it can from the start of the bytes, and must not retain them
   * @param worth bytes to wait for, at least, before each call
   */
  constructor(read: (bytes: Buffer) => Used, worth = 1) {
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

  /** The bytes that are not consumed. */
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
