/** The pools in the flags or files of `create`, and its nodes. */

import { showNote } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { withoutKind } from '../../cli/flags.ts';
import { hasPoolFlags, type PoolFlags, specFromFlags } from '../../cli/pool-flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { API_VERSION, type NodePool } from '../../nodepool/types.ts';
import { sanitizeLine } from '../../render/sanitize.ts';

/** The pools of the flags or of the files. Throws where both are given, or neither. */
export async function poolsToCreate(
  flags: PoolFlags & { filename: string[] | undefined; nodes: string[] | undefined },
  name: string | undefined,
  { io, requestTimeoutMs }: Deps,
): Promise<NodePool[]> {
  if (flags.filename === undefined) {
    if (name === undefined) throw new NodepoolError('usage', 'create needs the name of a pool, or -f FILE');
    return [{ apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec: specFromFlags(flags) }];
  }
  if (name !== undefined || hasPoolFlags(flags) || flags.nodes !== undefined) {
    throw new NodepoolError(
      'usage',
      '-f takes the pools from a file; a name, --nodes and the flags of a pool do not go with it',
    );
  }
  const { readInput } = await import('../../cli/input.ts');
  const { decodePool, withoutServerFields } = await import('../../nodepool/decode.ts');
  const documents = await readInput(flags.filename, io, { urlDeadlineMs: requestTimeoutMs });
  return documents.map(({ value, source, placeOf }) => {
    const pool = decodePool(value, source, placeOf);
    const { namespace } = pool.metadata;
    if (namespace !== undefined) {
      const place = placeOf('metadata.namespace');
      const given = `metadata.namespace "${sanitizeLine(namespace)}"`;
      showNote(io, `note: ${place}: ${given} is ignored: pools are cluster-scoped`);
    }
    return withoutServerFields(pool);
  });
}

/** Throws for a flag without a name: an empty variable in a script. */
export function splitNames(lists: readonly string[] | undefined): string[] {
  if (lists === undefined) return [];
  const names = lists
    .flatMap(list => list.split(','))
    .map(name => withoutKind(name.trim()))
    .filter(name => name !== '');
  if (names.length === 0) {
    throw new NodepoolError('usage', `--nodes: "${lists.join(',')}" names no node`, 'write it like --nodes a,b');
  }
  return names;
}
