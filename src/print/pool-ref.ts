import { GROUP } from '../nodepool/types.ts';
import { sanitizeLine } from './sanitize.ts';

/** `nodepool.nodes.lailin.xyz/worker`, as -o name prints it and messages begin. */
export function poolRef(name: string): string {
  return `nodepool.${GROUP}/${sanitizeLine(name)}`;
}
