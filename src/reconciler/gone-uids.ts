/** Remembers which objects are gone, so that what comes late does not bring them back. */
import { Lru } from '../controller/lru.ts';

/** Orders requests among removals. */
export type Moment = number;

/** UIDs of gone objects that are remembered: what is older than that many deletions has arrived. */
const MOST_GONE = 10_000;

export class GoneUids {
  /** By UID, which removal it was, counted from 1. */
  readonly #removals = new Lru<string, number>(MOST_GONE);
  #last = 0;

  /** To be taken before the server is asked for an object: the answer outweighs the removals that came before. */
  moment(): Moment {
    return this.#last + 1;
  }

  add(uid: string): void {
    this.#removals.set(uid, ++this.#last);
  }

  /**
   * Whether an object that is seen now is gone all the same. One that is not is forgotten.
   * @param asked when the server was asked for it; 0 for what a cache or the answer to a write tells
   */
  isGone(uid: string, asked: Moment): boolean {
    const removal = this.#removals.get(uid);
    if (removal === undefined) return false;
    if (removal >= asked) return true;
    this.#removals.delete(uid);
    return false;
  }
}
