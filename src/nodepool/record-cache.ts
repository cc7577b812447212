/** Parsed records by text: most nodes of a pool have the same record. */
import { type AppliedRecord, parseRecord } from './record.ts';

/** Characters of all texts together. A kubelet can write a different text of 160 KB at any time. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Number of texts; enough for a large cluster where all records differ. */
const MAX_RECORDS = 10_000;

export class RecordCache {
  readonly #records = new Map<string, AppliedRecord>();
  /** Total length of the keys of #records. */
  #characters = 0;

  /** Undefined when the record cannot be parsed. */
  read(raw: string): AppliedRecord | undefined {
    const known = this.#records.get(raw);
    if (known !== undefined) return known;
    const record = parseRecord(raw);
    if (record === undefined) return undefined;
    if (this.#records.size >= MAX_RECORDS || this.#characters + raw.length > MAX_CHARACTERS) {
      this.#records.clear();
      this.#characters = 0;
    }
    this.#records.set(raw, record);
    this.#characters += raw.length;
    return record;
  }
}
