/**
 * Computes the label changes that make a node join or leave a pool. Only labels of the pool's selector change, and only
 * those that a user may change. Each function returns a merge patch of labels, or throws a NodepoolError that names the
 * node and the label.
 */
import { NodepoolError } from './errors.ts';
import { own, setOwn } from './json.ts';
import { PROVIDER_LABELS } from './provider-labels.ts';
import type { AppliedRecord } from './record.ts';
import { matchesLabels, membershipSelector, ROLE_PREFIX } from './selector.ts';
import type { Node, NodePool } from './types.ts';
import { isClusterLabel } from './validation.ts';

/** null removes the label. */
export type LabelPatch = Record<string, string | null>;

/** Cloud controllers set these and would set them again. */
const TOPOLOGY = 'topology.kubernetes.io/';

/**
 * The labels that make a node a member of the pool.
 * @param record what is currently applied to the node: values that a pool set may be replaced
 * @param source the pool that the node leaves; the labels that make it a member there are removed in the same patch
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
    const of = Object.keys(left).every(isClusterSet)
      ? 'the cluster itself sets'
      : `pool ${pool.metadata.name} needs, too`;
    throw new NodepoolError(
      'input',
      `node ${node.name} cannot leave pool ${source.metadata.name}: that selects it by ${pairsOf(left)}, which ${of}`,
      selectByOwnLabel(source),
    );
  }
  return patch;
}

/**
 * The labels that make a node leave the pool. Labels by which another pool selects the node also stay, when removing
 * another label is enough.
 * @param rivals the other pools that match the node
 * @param isOwner whether the pool owns the node, and does not only match it
 */
export function labelsToLeave(node: Node, pool: NodePool, rivals: readonly NodePool[], isOwner: boolean): LabelPatch {
  const selector = membershipSelector(pool);
  const removable = Object.keys(selector).filter(key => !isClusterSet(key));
  const shared = new Set(rivals.flatMap(rival => Object.keys(membershipSelector(rival))));
  const alone = removable.filter(key => !shared.has(key));
  const keys = alone.length > 0 ? alone : isOwner ? removable : [];
  if (keys.length > 0) return Object.fromEntries(keys.map(key => [key, null]));
  const { name } = pool.metadata;
  const cannot = `node ${node.name} cannot be removed from pool ${name}`;
  if (removable.length > 0) {
    const others = rivals.map(({ metadata }) => metadata.name).join(', ');
    throw new NodepoolError(
      'input',
      `${cannot}: pool ${others} has it by the same labels, ${pairsOf(selector)}`,
      `change which nodes the pool has: \`kubectl nodepool edit ${name}\``,
    );
  }
  // As of a pool that adopt created.
  throw new NodepoolError(
    'input',
    `${cannot}: the cluster itself sets the labels ${pairsOf(selector)}`,
    selectByOwnLabel(pool),
  );
}

/** What makes it possible to take nodes from a pool whose labels stay on them. */
function selectByOwnLabel(pool: NodePool): string {
  const { name } = pool.metadata;
  const own = `${ROLE_PREFIX}${name}=`;
  return `select by a label of your own, too, and run this again: \`kubectl label nodes -l ${pairsOf(membershipSelector(pool))} ${own}\`, then \`kubectl nodepool edit ${name} --node-selector ${own}\`; nodes that are added later need that label`;
}

function pairsOf(selector: Readonly<Record<string, string>>): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The patch without values that are already set. */
export function effective(node: Node, patch: LabelPatch): LabelPatch {
  return Object.fromEntries(Object.entries(patch).filter(([key, value]) => (labelOf(node, key) ?? null) !== value));
}

/** The labels after the patch. */
export function patchedLabels(labels: Record<string, string>, patch: LabelPatch): Record<string, string> {
  const merged = { ...labels };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setOwn(merged, key, value);
  }
  return merged;
}

/** Labels of cloud node groups are not included: providers read them and do not set them again. */
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
