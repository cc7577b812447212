/**
 * The labels by which a node is put into a pool or taken out of it: those of the pool's selector, and of them only what
 * is ours to change. Each function gives a merge patch of labels, or throws a NodepoolError that names node and label.
 */
import { NodepoolError } from './errors.ts';
import { own, setOwn } from './json.ts';
import { PROVIDER_LABELS } from './provider-labels.ts';
import type { AppliedRecord } from './record.ts';
import { matchesLabels, membershipSelector } from './selector.ts';
import type { Node, NodePool } from './types.ts';
import { isClusterLabel } from './validation.ts';

/** null removes. */
export type LabelPatch = Record<string, string | null>;

/** Set by cloud controllers, which would set it back. */
const TOPOLOGY = 'topology.kubernetes.io/';

/**
 * For a node that is to be in the pool.
 * @param record what is applied to the node now: what a pool gave it may be replaced
 * @param source the pool that it leaves for this one: the labels that make it a member there go with the same patch
 */
export function labelsToJoin(
  node: Node,
  record: AppliedRecord | undefined,
  pool: NodePool,
  source?: NodePool,
): LabelPatch {
  const selector = membershipSelector(pool);
  const left = source === undefined ? {} : membershipSelector(source);
  const patch: LabelPatch = {};
  for (const key of Object.keys(left)) {
    if (!Object.hasOwn(selector, key) && !isClusterSet(key)) setOwn<string | null>(patch, key, null);
  }
  for (const [key, value] of Object.entries(selector)) {
    const live = labelOf(node, key);
    if (live === value) continue;
    const isOurs = live === undefined || Object.hasOwn(left, key) || record?.labels.get(key)?.value === live;
    if (!isOurs || isClusterSet(key)) throw notFree(node, pool, key, value, live);
    setOwn<string | null>(patch, key, value);
  }
  if (source !== undefined && matchesLabels(left, patchedLabels(node.labels, patch))) {
    throw new NodepoolError(
      'input',
      `node ${node.name} would still match pool ${source.metadata.name}: its labels for pool ${pool.metadata.name} are enough for that`,
      `give one of the two another selector: \`kubectl nodepool edit ${source.metadata.name}\``,
    );
  }
  return patch;
}

/**
 * For a node that is to leave the pool. Labels by which another pool has the node, too, stay where one of the others is
 * enough.
 * @param rivals the other pools that match the node
 * @param isOwner whether the node is this pool's, and not one that it lost to another
 */
export function labelsToLeave(node: Node, pool: NodePool, rivals: readonly NodePool[], isOwner: boolean): LabelPatch {
  const selector = membershipSelector(pool);
  const removable = Object.keys(selector).filter(key => !isClusterSet(key));
  const shared = new Set(rivals.flatMap(rival => Object.keys(membershipSelector(rival))));
  const alone = removable.filter(key => !shared.has(key));
  const keys = alone.length > 0 ? alone : isOwner ? removable : [];
  if (keys.length > 0) return Object.fromEntries(keys.map(key => [key, null]));
  const pairs = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  const why =
    removable.length > 0
      ? `pool ${rivals.map(({ metadata }) => metadata.name).join(', ')} has it by the same labels, ${pairs.join(',')}`
      : `the cluster itself sets the labels ${pairs.join(',')}`;
  throw new NodepoolError(
    'input',
    `node ${node.name} cannot be taken out of pool ${pool.metadata.name}: ${why}`,
    `change which nodes the pool has: \`kubectl nodepool edit ${pool.metadata.name}\``,
  );
}

/** The patch without what is so already. */
export function effective(node: Node, patch: LabelPatch): LabelPatch {
  return Object.fromEntries(Object.entries(patch).filter(([key, value]) => (labelOf(node, key) ?? null) !== value));
}

/** The labels with the patch laid over them. */
export function patchedLabels(labels: Record<string, string>, patch: LabelPatch): Record<string, string> {
  const merged = { ...labels };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setOwn(merged, key, value);
  }
  return merged;
}

/** The provider of a pool goes by its label, and would not set it again. */
function isClusterSet(key: string): boolean {
  return isClusterLabel(key) || key.startsWith(TOPOLOGY) || PROVIDER_LABELS.some(label => label.key === key);
}

export function labelOf({ labels }: Node, key: string): string | undefined {
  return own(labels, key);
}

function notFree(node: Node, pool: NodePool, key: string, value: string, live: string | undefined): NodepoolError {
  const has = live === undefined ? `has no label ${key}` : `has the label ${key}=${live}`;
  const next = isClusterSet(key)
    ? 'the cluster itself sets that label: choose other nodes'
    : `choose other nodes, or change it yourself: \`kubectl label node ${node.name} ${key}=${value} --overwrite\``;
  return new NodepoolError(
    'input',
    `node ${node.name} ${has}, and members of pool ${pool.metadata.name} have ${key}=${value}`,
    next,
  );
}
