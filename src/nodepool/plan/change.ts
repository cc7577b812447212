/** One change of a label, taint or annotation in a plan, and why it is made. */

import type { TaintEffect } from '../types.ts';
import type { SlotWrite } from './merge-slots.ts';

/**
 * `membership`: requested by `add`, `remove` or `move`. `joined the pool`, `booted`: a startup taint is added.
 * `condition`: it is removed, because the node has the condition that it waits for.
 */
type ChangeReason =
  | 'spec'
  | 'drift'
  | 'left the pool'
  | 'joined the pool'
  | 'booted'
  | 'condition'
  | 'unmanaged'
  | 'membership';

/** The writer of a field, by the object's managedFields. */
export interface FieldSetter {
  manager: string;
  /** `Apply` or `Update`. */
  operation: string;
  /** RFC 3339: the manager's last write to any of its fields. */
  time?: string;
}

export interface Change {
  kind: 'label' | 'taint' | 'annotation';
  key: string;
  effect?: TaintEffect;
  action: SlotWrite['action'];
  from?: string;
  to?: string;
  reason: ChangeReason;
  /** Who set `from`; for a taint, who set the taints of the node. Only if read (see drift-setters.ts). */
  setBy?: FieldSetter;
}

/** The field of the node that contains the change. All taints are one field. */
export function fieldPath({ kind, key }: Pick<Change, 'kind' | 'key'>): string[] {
  return kind === 'taint' ? ['spec', 'taints'] : ['metadata', `${kind}s`, key];
}

/** All other reasons are drift. The record does not tell whether a label is removed because of the current spec. */
export function isOfSpec({ reason }: Change): boolean {
  return reason === 'spec' || reason === 'unmanaged';
}

export function describeWrite(kind: Change['kind'], write: SlotWrite, leaving: boolean): Change {
  const colon = kind === 'taint' ? write.id.lastIndexOf(':') : -1;
  return {
    kind,
    key: colon < 0 ? write.id : write.id.slice(0, colon),
    ...(colon < 0 ? {} : { effect: write.id.slice(colon + 1) as TaintEffect }),
    action: write.action,
    ...(write.from === null ? {} : { from: write.from }),
    ...(write.to === null ? {} : { to: write.to }),
    reason: reasonOf(write.why, leaving),
  };
}

function reasonOf(why: SlotWrite['why'], leaving: boolean): ChangeReason {
  switch (why) {
    case 'released':
      return leaving ? 'left the pool' : 'spec';
    case 'joined':
      return 'joined the pool';
    default:
      return why;
  }
}
