/** The continue tokens of one list. An expired token restarts the list, but only once. */
export class ContinueTokens {
  readonly #used = new Set<string>();
  #hasRestarted = false;

  /** Whether this response restarts the list: the first 410 to a request with a token. Forgets the used tokens. */
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

  /** Call this before restart() handles the response for this token. */
  use(token: string): void {
    this.#used.add(token);
  }
}
