/**
 * Which annotations of nodes a connection keeps: those that pools set, and those in the record of the node itself.
 * Others may be long, and are dropped by the decoder (docs/decisions/0039).
 */
import type { V1Node } from '@kubernetes/client-node';
import { setOwn } from '../../nodepool/json.ts';
import { recordIn } from '../../nodepool/membership/birth-record.ts';
import { NO_SLOTS } from '../../nodepool/plan/record.ts';
import { RecordCache } from '../../nodepool/plan/record-cache.ts';
import type { Node } from '../../nodepool/types.ts';
import { type DecodeObject, nodeDecoder } from '../protobuf/objects.ts';
import type { Wire } from '../wire.ts';

/** `kept`: for a node in protobuf, the keys that the decoder kept, in addition to those in its record. */
export type WireNode = Wire<V1Node> & { kept?: ReadonlySet<string> };

export type NodeDecoder = (annotations: ReadonlySet<string>) => DecodeObject<Wire<V1Node>>;

export class KeptAnnotations {
  /** Replaced when it grows, because nodes refer to it. */
  #keys: ReadonlySet<string>;
  readonly #records = new RecordCache();

  constructor(keys: Iterable<string> = []) {
    this.#keys = new Set(keys);
  }

  /** Later reads of nodes keep these annotations as well. */
  add(keys: Iterable<string>): void {
    this.#keys = withKeys(this.#keys, keys);
  }

  /** Additional keys for one request. */
  with(keys: Iterable<string>): KeptAnnotations {
    const more = withKeys(this.#keys, keys);
    return more === this.#keys ? this : new KeptAnnotations(more);
  }

  decoder(decoderOf: NodeDecoder = nodeDecoder): DecodeObject<WireNode> {
    let [keys, decode] = [this.#keys, decoderOf(this.#keys)];
    return raw => {
      if (keys !== this.#keys) [keys, decode] = [this.#keys, decoderOf(this.#keys)];
      const node = decode(raw);
      const recorded = this.#recorded(recordIn(node.metadata?.annotations));
      const all = withKeys(keys, recorded.keys());
      return { ...(all === keys ? node : decoderOf(all)(raw)), kept: keys };
    };
  }

  /** The annotations of a node that was read. */
  of({ metadata = {}, kept = this.#keys }: WireNode): Pick<Node, 'annotations' | 'keptAnnotations'> {
    const { annotations: all = {} } = metadata;
    const recorded = this.#recorded(recordIn(all));
    if (kept.size === 0 && recorded.size === 0) return {};
    const annotations: Record<string, string> = {};
    for (const [key, value] of Object.entries(all)) {
      if (kept.has(key) || recorded.has(key)) setOwn(annotations, key, value);
    }
    return {
      ...(kept.size === 0 ? {} : { keptAnnotations: kept }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    };
  }

  #recorded(record = ''): ReadonlyMap<string, unknown> {
    // Most records have no annotations, and need not be parsed.
    return record.includes('"annotations"') ? (this.#records.read(record)?.annotations ?? NO_SLOTS) : NO_SLOTS;
  }
}

/** Returns the same set if it already has all keys. */
function withKeys(keys: ReadonlySet<string>, more: Iterable<string>): ReadonlySet<string> {
  const missing = [...more].filter(key => !keys.has(key));
  return missing.length === 0 ? keys : new Set([...keys, ...missing]);
}
