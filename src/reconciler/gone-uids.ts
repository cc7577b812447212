/** Remembers which objects are deleted, so that a late response or event does not add them again. */
import { Lru } from '../controller/lru.ts';

/** Orders requests among removals. */
export type Moment = number;

/** UIDs that are remembered. A response or event does not arrive later than that many deletions. */
const MAX_GONE = 10_000;

export class GoneUids {
  /** By UID, which removal it was, counted from 1. */
  readonly #removals = new Lru<string, number>(MAX_GONE);
  #last = 0;

  /** To be called before an object is read: the response is newer than the removals before this moment. */
  moment(): Moment {
    return this.#last + 1;
  }

  add(uid: string): void {
    this.#removals.set(uid, ++this.#last);
  }

  /**
   * Whether the object counts as deleted although it is seen now. If not, its UID is forgotten.
   * @param asked moment() before the read that returned it; 0 for an object from a cache or from the response to a write
   */
  isGone(uid: string, asked: Moment): boolean {
    const removal = this.#removals.get(uid);
    if (removal === undefined) return false;
    if (removal >= asked) return true;
    this.#removals.delete(uid);
    return false;
  }
}
