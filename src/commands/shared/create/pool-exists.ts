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

/** @param files that the pool comes from, as given @param existing the pool of that name, where it was read */
export function alreadyExists(
  { metadata: { name } }: NodePool,
  files: readonly string[] = [],
  existing?: Pick<NodePool, 'metadata'>,
): PoolExistsError {
  const edit = `change the pool with \`kubectl nodepool edit ${name}\``;
  // Input from stdin or a URL cannot be named in a command to repeat.
  const file = files.length === 1 && /^[\w./-]+$/.test(files[0] ?? '') && files[0] !== '-' ? files[0] : 'FILE';
  // Of a pool that it has not made, kubectl apply keeps what the file has not, and warns; with --server-side it conflicts.
  const isApplied = existing?.metadata.annotations?.[LAST_APPLIED] !== undefined;
  const how = isApplied
    ? `\`kubectl apply -f ${file}\``
    : `\`kubectl replace -f ${file}\` (\`kubectl apply -f ${file}\` would keep fields that are not in the file)`;
  const byFile = `, or from its file with ${how}, then \`kubectl nodepool reconcile ${name}\``;
  return new PoolExistsError(name, `${edit}${files.length === 0 ? '' : byFile}`);
}

/** Who took the name: the field manager of the creation, where the pool was read with managedFields. */
export function takenText(metadata: ObjectMeta): string {
  const { creationTimestamp = '' } = metadata;
  const { managedFields = [] } = metadata as { managedFields?: { manager?: string; time?: string }[] };
  // The server sorts the entries of server-side apply first. An entry has the time of its manager's last change: where the
  // creator changed the pool later, no entry is of the creation.
  const ofCreation = managedFields.filter(({ time }) => time !== undefined && time <= creationTimestamp);
  const who = (ofCreation.length === 1 ? ofCreation[0]?.manager : undefined) ?? 'somebody else';
  return `${who} created a pool of the same name at ${metadata.creationTimestamp}`;
}
