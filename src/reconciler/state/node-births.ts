/**
 * Which nodes are young, or were members of a pool before, and which startup taints were in a record that a node lost:
 * if a label is missing for a second, or a selector is edited and reverted, no node gets its startup taints twice.
 *
 * Not guaranteed: events before this process started, or more than MAX_NODES nodes ago.
 */
import { Lru } from '../../controller/lru.ts';
import { NO_STARTUP, parseRecord, type StartupSlots } from '../../nodepool/plan/record.ts';
import { type Birth, isRecent, isYoung, LONG_REGISTERED } from '../../nodepool/plan/startup-taints.ts';
import { taintId } from '../../nodepool/spec/taints.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';

/** Maximum number of remembered nodes. Each takes a few hundred bytes. */
const MAX_NODES = 10_000;

export class NodeBirths {
  readonly #now: () => Date;
  /** By UID; null: the node already had the taint of that id, and does not get it again. */
  readonly #former = new Lru<string, StartupSlots>(MAX_NODES);
  /** Nodes that were members of a pool, and whose record is gone. By UID. */
  readonly #left = new Lru<string, true>(MAX_NODES);
  /** When a change of the boot id was detected, in milliseconds since 1970, by UID. */
  readonly #booted = new Lru<string, number>(MAX_NODES);

  /** @param now the server's time if known, because the timestamps of nodes are from servers */
  constructor(now: () => Date) {
    this.#now = now;
  }

  /** @param owner the pool that the node joins, or belongs to */
  of(node: Node, owner: NodePool | undefined): Birth {
    const now = this.#now().getTime();
    const known = { isYoung: isYoung(node, now), wasMember: this.#left.get(node.uid) === true };
    // True for nearly all pools.
    if (owner?.spec.startupTaints === undefined) return { ...LONG_REGISTERED, ...known };
    const booted = this.#booted.get(node.uid);
    return {
      ...known,
      // A boot changes Ready.
      isBooting: [booted, node.readySince && node.readySince * 1000].some(at => at !== undefined && isRecent(at, now)),
      former: this.#former.get(node.uid) ?? NO_STARTUP,
    };
  }

  /** A new version of a node, with the same UID. */
  changed(before: Node, after: Node): void {
    if (before.boot !== undefined && after.boot !== before.boot) this.#booted.set(after.uid, this.#now().getTime());
    if (before.record !== undefined && after.record === undefined) this.#left.set(after.uid, true);
    // Nearly all records are unchanged, or have no startup taints.
    if (before.record === after.record || before.record?.includes('"startup"') !== true) return;
    const kept = parseRecord(after.record)?.startup;
    const live = new Map(before.taints.map(taint => [taintId(taint), taint.value ?? '']));
    const lost = [...(parseRecord(before.record)?.startup ?? [])].filter(([id]) => kept?.has(id) !== true);
    if (lost.length === 0) return;
    const slots = lost.map(
      ([id, applied]) => [id, applied !== null && live.get(id) === applied ? applied : null] as const,
    );
    this.#former.set(after.uid, new Map([...(this.#former.get(after.uid) ?? []), ...slots]));
  }

  gone(uid: string): void {
    this.#former.delete(uid);
    this.#booted.delete(uid);
    this.#left.delete(uid);
  }
}
