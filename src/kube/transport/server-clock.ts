/**
 * The server's time, by the Date headers of its responses. They are truncated to seconds, so each allows a range of
 * offsets from our clock. The estimate moves only if it is outside of that range: it comes closer with each response,
 * and goes back only if the server's clock does.
 */
const SECOND_MS = 1_000;

export class ServerClock {
  /** Milliseconds to add to our clock. */
  #offset: number | undefined;

  /** @param sentAt when the request was sent, @param at when the response came, both in milliseconds of our clock */
  note(header: string | undefined, sentAt: number, at: number): void {
    const date = Date.parse(header ?? '');
    if (Number.isNaN(date)) return;
    // The server wrote the header at some time between the two.
    const [least, most] = [date - at, date + SECOND_MS - sentAt];
    this.#offset = Math.min(Math.max(this.#offset ?? least, least), most);
  }

  /** @param at of our clock. Undefined before the first response. */
  timeAt(at: number): Date | undefined {
    return this.#offset === undefined ? undefined : new Date(at + this.#offset);
  }
}
