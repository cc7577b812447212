/** A line about a pod that is evicted, in the words of kubectl drain. */
import type { EvictionEvent } from '../reconciler/evictor.ts';
import { shorten } from './cells.ts';
import { sanitizeLine } from './sanitize.ts';

/** Characters of a reason. */
export const REASON_WIDTH = 1000;

export function evictionLine(event: EvictionEvent): string {
  switch (event.kind) {
    case 'asking':
      return sanitizeLine(`evicting pod ${event.pod}`);
    case 'gone':
      return sanitizeLine(`pod ${event.pod} evicted`);
    case 'held':
      // The reason may be a webhook's: of any length, with newlines.
      return sanitizeLine(`pod ${event.pod} on node ${event.node} waits for ${shorten(event.why, REASON_WIDTH)}`);
  }
}
