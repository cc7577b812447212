/** Records by their text: the nodes of a pool mostly carry the same one. */
import { type AppliedRecord, parseRecord } from './record.ts';

/** Characters of all texts together. A kubelet may write ever new ones of 160 KB on its node. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Texts: those of a big cluster where no two are alike. */
const MOST_RECORDS = 10_000;

export class RecordCache {
  readonly #records = new Map<string, AppliedRecord>();
  /** Of the keys of #records. */
  #characters = 0;

  /** Undefined when it cannot be understood. */
  read(raw: string): AppliedRecord | undefined {
    const known = this.#records.get(raw);
    if (known !== undefined) return known;
    const record = parseRecord(raw);
    if (record === undefined) return undefined;
    if (this.#records.size >= MOST_RECORDS || this.#characters + raw.length > MOST_CHARACTERS) {
      this.#records.clear();
      this.#characters = 0;
    }
    this.#records.set(raw, record);
    this.#characters += raw.length;
    return record;
  }
}
