import { NodepoolError } from '../../../nodepool/errors.ts';
import { LAST_APPLIED } from '../../../nodepool/spec/annotations.ts';
import type { NodePool, ObjectMeta } from '../../../nodepool/types.ts';

export class PoolExistsError extends NodepoolError {
  readonly pool: string;

  constructor(pool: string, next: string) {
    super('input', `pool ${pool} already exists`, next);
    this.pool = pool;
  }
}

/** @param files the pool's files, as given @param existing the pool of that name, if it was read */
export function alreadyExists(
  { metadata: { name } }: NodePool,
  files: readonly string[] = [],
  existing?: Pick<NodePool, 'metadata'>,
): PoolExistsError {
  const edit = `change the pool with \`kubectl nodepool edit ${name}\``;
  // A command line cannot repeat input from stdin or a URL.
  const file = files.length === 1 && /^[\w./-]+$/.test(files[0] ?? '') && files[0] !== '-' ? files[0] : 'FILE';
  // If kubectl apply did not create the pool, it keeps missing fields, and warns; with --server-side it conflicts.
  const isApplied = existing?.metadata.annotations?.[LAST_APPLIED] !== undefined;
  const how = isApplied
    ? `\`kubectl apply -f ${file}\``
    : `\`kubectl replace -f ${file}\` (\`kubectl apply -f ${file}\` would keep fields that are not in the file)`;
  const byFile = `, or from its file with ${how}, then \`kubectl nodepool reconcile ${name}\``;
  return new PoolExistsError(name, `${edit}${files.length === 0 ? '' : byFile}`);
}

/** Who took the name: the field manager of the creation, if the pool was read with managedFields. */
export function takenText(metadata: ObjectMeta): string {
  const { creationTimestamp = '' } = metadata;
  const { managedFields = [] } = metadata as { managedFields?: { manager?: string; time?: string }[] };
  // The server sorts entries of server-side apply first. An entry has the time of its manager's last change: if the
  // creator changed the pool later, no entry stands for the creation.
  const ofCreation = managedFields.filter(({ time }) => time !== undefined && time <= creationTimestamp);
  const who = (ofCreation.length === 1 ? ofCreation[0]?.manager : undefined) ?? 'somebody else';
  return `${who} created a pool of the same name at ${metadata.creationTimestamp}`;
}
