/** The continue tokens of one list: one that expires restarts the list once, and with one that repeats it would not end. */
export class ContinueTokens {
  readonly #used = new Set<string>();
  #hasRestarted = false;

  /** Whether this response restarts the list: the first 410 to a request with a token. Then no token counts as used. */
  restart(status: number): boolean {
    if (status !== 410 || this.#used.size === 0 || this.#hasRestarted) return false;
    this.#hasRestarted = true;
    this.#used.clear();
    return true;
  }

  /** Whether the list has more than one page. */
  get areUsed(): boolean {
    return this.#used.size > 0;
  }

  isRepeat(token: string): boolean {
    return this.#used.has(token);
  }

  /** To be called before restart() gets the response for this token. */
  use(token: string): void {
    this.#used.add(token);
  }
}
