/**
 * Parsed records by text: most nodes of a pool have the same record. After rollouts, or with boot ids, most records
 * differ, but only in that; they share all other parts.
 */
import { type AppliedRecord, parseRecord, tailOf } from './record.ts';

/** Maximum characters of all texts together. A kubelet can write a different text of 160 KB at any time. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Maximum number of texts; enough for a large cluster where all records differ. */
const MAX_RECORDS = 10_000;

export class RecordCache {
  readonly #records = new Map<string, AppliedRecord>();
  /** Total length of the keys of #records. */
  #characters = 0;
  /** One record for each text without its tail (boot id and rollout change). */
  readonly #byTextBeforeTail = new Map<string, AppliedRecord>();
  #earlier: ReadonlyMap<string, AppliedRecord> | undefined;

  /** @param earlier its records are used without parsing them again, until forgetEarlier() */
  constructor(earlier?: RecordCache) {
    this.#earlier = earlier === undefined ? undefined : earlier.#records;
  }

  /** Records that were not read since are no longer on any node. */
  forgetEarlier(): void {
    this.#earlier = undefined;
  }

  /** Undefined if the record cannot be parsed. */
  read(raw: string): AppliedRecord | undefined {
    const known = this.#records.get(raw);
    if (known !== undefined) return known;
    const record = this.#earlier?.get(raw) ?? this.#parse(raw);
    if (record === undefined) return undefined;
    if (this.#records.size >= MAX_RECORDS || this.#characters + raw.length > MAX_CHARACTERS) {
      this.#records.clear();
      this.#byTextBeforeTail.clear();
      this.#characters = 0;
    }
    this.#records.set(raw, record);
    this.#characters += raw.length;
    return record;
  }

  #parse(raw: string): AppliedRecord | undefined {
    const record = parseRecord(raw);
    const start = record && textBeforeTail(raw, record);
    if (record === undefined || start === undefined) return record;
    const alike = this.#byTextBeforeTail.get(start);
    if (alike === undefined) this.#byTextBeforeTail.set(start, record);
    else Object.assign(record, slotsOf(alike));
    return record;
  }
}

function slotsOf({ labels, taints, annotations, startup }: AppliedRecord) {
  return { labels, taints, annotations, startup };
}

/** The text before a final boot id or rollout change, as formatRecord() writes them; undefined without these. */
function textBeforeTail(raw: string, record: AppliedRecord): string | undefined {
  const end = `,${JSON.stringify(tailOf(record)).slice(1)}`;
  const hasTail = record.changed !== undefined || record.boot !== undefined;
  return hasTail && raw.endsWith(end) ? raw.slice(0, -end.length) : undefined;
}
