/** What an argument may have before the name: its kind, as in `node/NAME`, or the namespace of a pod. */
import { NODE_KIND, POOL_KIND } from '../kind-prefix.ts';
import type { Live } from './sources.ts';

export interface Prefixed {
  prefix: string;
  what: Live;
  /** Of pods, where the prefix names it. */
  namespace?: string;
}

/** @param typed the argument before the cursor */
export function splitPrefix(what: Live, typed: string): Prefixed {
  switch (what) {
    case 'pods': {
      const [, prefix = '', namespace] = /^(([^/]+)\/)/.exec(typed) ?? [];
      return namespace === undefined ? { prefix, what } : { prefix, what, namespace };
    }
    case 'pools':
      return { prefix: prefixOf(POOL_KIND, typed), what };
    case 'nodes':
    case 'members':
    case 'nonMembers':
      return { prefix: prefixOf(NODE_KIND, typed), what };
    case 'poolsAndNodes': {
      const [pool, node] = [prefixOf(POOL_KIND, typed), prefixOf(NODE_KIND, typed)];
      return { prefix: pool + node, what: pool !== '' ? 'pools' : node !== '' ? 'nodes' : what };
    }
    default:
      return { prefix: '', what };
  }
}

function prefixOf(kind: RegExp, typed: string): string {
  return kind.exec(typed)?.[0] ?? '';
}
