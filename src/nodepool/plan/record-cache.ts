/**
 * Parsed records by text: most nodes of a pool have the same record. After rollouts, or with boot ids, most differ, but only by
 * these: they share all else.
 */
import { type AppliedRecord, parseRecord, tailOf } from './record.ts';

/** Characters of all texts together. A kubelet can write a different text of 160 KB at any time. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Number of texts; enough for a large cluster where all records differ. */
const MAX_RECORDS = 10_000;

export class RecordCache {
  readonly #records = new Map<string, AppliedRecord>();
  /** Total length of the keys of #records. */
  #characters = 0;
  /** One for each text before the boot id and the change by a rollout. */
  readonly #byTextBeforeTail = new Map<string, AppliedRecord>();
  #earlier: ReadonlyMap<string, AppliedRecord> | undefined;

  /** @param earlier records are taken from it and not parsed again, until forgetEarlier() */
  constructor(earlier?: RecordCache) {
    this.#earlier = earlier === undefined ? undefined : earlier.#records;
  }

  /** What was not read since is on no node any more. */
  forgetEarlier(): void {
    this.#earlier = undefined;
  }

  /** Undefined when the record cannot be parsed. */
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

/** Undefined unless the text ends with a boot id or a change by a rollout, as formatRecord() writes them: then all else is before. */
function textBeforeTail(raw: string, record: AppliedRecord): string | undefined {
  const end = `,${JSON.stringify(tailOf(record)).slice(1)}`;
  const hasTail = record.changed !== undefined || record.boot !== undefined;
  return hasTail && raw.endsWith(end) ? raw.slice(0, -end.length) : undefined;
}
