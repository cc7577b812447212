/** A line about a pod that is evicted, in the words of kubectl drain. */

import { shorten } from '../../../print/cells.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { EvictionEvent } from '../../../reconciler/evict/evictor.ts';

/** Characters of a reason. */
export const REASON_WIDTH = 1000;

export function evictionLine(event: EvictionEvent): string {
  switch (event.kind) {
    case 'asking':
      return sanitizeLine(`evicting pod ${event.pod}`);
    case 'gone':
      return sanitizeLine(`pod ${event.pod} evicted`);
    case 'blocked':
      // The reason may be a webhook's: of any length, with newlines.
      return sanitizeLine(`pod ${event.pod} on node ${event.node} waits for ${shorten(event.why, REASON_WIDTH)}`);
  }
}
