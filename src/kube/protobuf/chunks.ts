/** Bytes that come piece by piece, joined only when as many are there as somebody waits for. */
export class Chunks {
  #pieces: Buffer[] = [];
  #length = 0;
  #needed = 1;

  /** All that is not used yet; undefined while less has come than is needed. */
  push(chunk: Buffer): Buffer | undefined {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    return this.#length < this.#needed ? undefined : this.rest();
  }

  /** @param needed bytes without which push() is not to give any */
  keep(rest: Buffer, needed: number): void {
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    this.#needed = needed;
  }

  rest(): Buffer {
    const [only, ...more] = this.#pieces;
    return only !== undefined && more.length === 0 ? only : Buffer.concat(this.#pieces);
  }
}
