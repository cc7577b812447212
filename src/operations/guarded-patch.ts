/** Patches of a pool that somebody else may change at the same time. */
import type { RawPool } from './ports.ts';

/** Attempts after conflicts: an edit is applied again to the pool as it is then. */
export const MAX_ATTEMPTS = 10;

/** The server refuses the patch when the pool is no longer the one that was read. */
export function guarded(patch: Record<string, unknown>, read: RawPool): Record<string, unknown> {
  const metadata = (patch.metadata ?? {}) as Record<string, unknown>;
  return { ...patch, metadata: { ...metadata, resourceVersion: read.metadata.resourceVersion } };
}
