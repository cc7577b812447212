/** Remembers which objects are deleted, so that a late response or event does not add them again. */
import { Lru } from '../../controller/lru.ts';

/** When a read began, among deletions: the number of the next deletion. */
export type ReadTime = number;

/** UIDs that are remembered. A response or event does not arrive later than that many deletions. */
const MAX_REMEMBERED = 10_000;

export class DeletedUids {
  /** By UID, which deletion it was, counted from 1. */
  readonly #deletions = new Lru<string, number>(MAX_REMEMBERED);
  #last = 0;

  /** To be called before an object is read: the response is newer than the deletions before it. */
  beginRead(): ReadTime {
    return this.#last + 1;
  }

  add(uid: string): void {
    this.#deletions.set(uid, ++this.#last);
  }

  /**
   * Whether the object counts as deleted although it is seen now. If not, its UID is forgotten.
   * @param asked beginRead() before the read that returned it; 0 for an object from a cache or from the response to a write
   */
  isDeleted(uid: string, asked: ReadTime): boolean {
    const deletion = this.#deletions.get(uid);
    if (deletion === undefined) return false;
    if (deletion >= asked) return true;
    this.#deletions.delete(uid);
    return false;
  }
}
