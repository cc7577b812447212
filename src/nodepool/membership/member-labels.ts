/**
 * Computes the label changes that make a node join or leave a pool. Changes only labels of the pool's selector, and
 * only labels that a user may change. Never changes the labels of expressions: others use them as well, such as the
 * rack of a node. Each function returns a merge patch of labels, or throws a NodepoolError that names the node and the
 * label.
 */
import { NodepoolError } from '../errors.ts';
import { ownValue, setOwn } from '../json.ts';
import type { AppliedRecord } from '../plan/record.ts';
import { isClusterLabel } from '../spec/validation.ts';
import type { Node, NodePool, NodePoolSpec } from '../types.ts';
import { meetsNode } from './label-query.ts';
import {
  isControlPlaneRole,
  keysOf,
  matches,
  membershipSelector,
  needsLabel,
  partsOf,
  quotedSelector,
  ROLE_PREFIX,
  type Selector,
  type SelectorPart,
  selectorText,
} from './selector.ts';

const NO_SELECTOR: Selector = { labels: {}, expressions: [] };

/** null removes the label. */
export type LabelPatch = Record<string, string | null>;

/** Set by cloud controllers, Node Feature Discovery and drivers. */
const FACTS = /^(?:topology\.kubernetes\.io|feature\.node\.kubernetes\.io|nvidia\.com)\//;

/**
 * The labels that make a node a member of the pool.
 * @param record what is currently applied to the node: values that a pool set may be replaced
 * @param source the pool that the node leaves; the patch also removes its membership labels
 */
export function labelsToJoin(
  node: Node,
  record: AppliedRecord | undefined,
  pool: NodePool,
  source?: NodePool,
): LabelPatch {
  const selector = membershipSelector(pool);
  const sourceSelector: Selector = source === undefined ? NO_SELECTOR : membershipSelector(source);
  const patch: LabelPatch = {};
  const needed = partsOf(selector).flatMap(part => (needsLabel(part) ? part.key : []));
  for (const key of Object.keys(sourceSelector.labels)) {
    if (!needed.includes(key) && !isClusterSet(key)) setOwn<string | null>(patch, key, null);
  }
  for (const [key, value] of Object.entries(selector.labels)) {
    const live = labelOf(node, key);
    if (live === value) continue;
    const isOurs =
      live === undefined || Object.hasOwn(sourceSelector.labels, key) || record?.labels.get(key)?.value === live;
    if (!isOurs || isClusterSet(key)) throw notFree(node, pool, key, value, live);
    setOwn<string | null>(patch, key, value);
  }
  const labels = patchedLabels(node.labels, patch);
  const unmet = partsOf({ labels: {}, expressions: selector.expressions }).find(
    part => !meetsNode(part, ownValue(labels, part.key)),
  );
  if (unmet !== undefined) throw notMet(node, pool, unmet, ownValue(labels, unmet.key));
  if (source !== undefined && matches(sourceSelector, labels)) {
    const cannot = `node ${node.name} cannot leave pool ${source.metadata.name}`;
    const key = expressionKey(sourceSelector, needed);
    if (key !== undefined) throw isFact(cannot, node, source, key);
    const by = selectorText(sourceSelector);
    const of = keysOf(sourceSelector).every(isClusterSet)
      ? 'the cluster itself sets'
      : `pool ${pool.metadata.name} also needs`;
    const why = isAbsence(sourceSelector) ? `nodes without a label, ${by}` : `the node by ${by}, which ${of}`;
    throw new NodepoolError('input', `${cannot}: that pool selects ${why}`, selectByOwnLabel(source));
  }
  return patch;
}

/**
 * The labels to remove so that a node leaves the pool. Labels by which another pool selects the node stay if removing
 * another label is enough.
 * @param rivals the other pools that match the node
 * @param isOwner whether the pool owns the node, and does not just match it
 */
export function labelsToLeave(node: Node, pool: NodePool, rivals: readonly NodePool[], isOwner: boolean): LabelPatch {
  const selector = membershipSelector(pool);
  const removable = Object.keys(selector.labels).filter(key => !isClusterSet(key));
  const shared = rivals.flatMap(rival => keysOf(membershipSelector(rival)));
  const alone = removable.filter(key => !shared.includes(key));
  const keys = alone.length > 0 ? alone : isOwner ? removable : [];
  if (keys.length > 0) return Object.fromEntries(keys.map(key => [key, null]));
  const { name } = pool.metadata;
  const cannot = `node ${node.name} cannot be removed from pool ${name}`;
  const expression = expressionKey(selector, shared) ?? (isOwner ? expressionKey(selector, []) : undefined);
  if (expression !== undefined) throw isFact(cannot, node, pool, expression);
  if (isAbsence(selector)) {
    throw new NodepoolError(
      'input',
      `${cannot}: that pool selects nodes without a label, ${selectorText(selector)}`,
      selectByOwnLabel(pool),
    );
  }
  if (removable.length > 0 || expressionKey(selector, []) !== undefined) {
    const others = rivals.map(({ metadata }) => metadata.name).join(', ');
    throw new NodepoolError(
      'input',
      `${cannot}: pool ${others} selects the node by the same labels, ${selectorText(selector)}`,
      `change the selector of the pool: \`kubectl nodepool edit ${name}\``,
    );
  }
  // For example, a pool that adopt created.
  throw new NodepoolError(
    'input',
    `${cannot}: the cluster itself sets the labels ${selectorText(selector)}`,
    selectByOwnLabel(pool),
  );
}

/** A label without which no node meets the selector's expressions. @param kept labels that stay */
function expressionKey({ expressions }: Selector, kept: readonly string[]): string | undefined {
  return expressions.find(part => needsLabel(part) && !isClusterSet(part.key) && !kept.includes(part.key))?.key;
}

/** Whether the selector matches only by absent labels. */
function isAbsence(selector: Selector): boolean {
  return keysOf(selector).length > 0 && !partsOf(selector).some(needsLabel);
}

/** @param key of an expression without which the node would not match */
function isFact(cannot: string, node: Node, { metadata: { name } }: NodePool, key: string): NodepoolError {
  const edit = `change the selector of the pool: \`kubectl nodepool edit ${name}\``;
  const remove = `remove the label yourself: \`kubectl label node ${node.name} ${key}-\``;
  return new NodepoolError(
    'input',
    `${cannot}: that pool selects the node by an expression on the label ${key}, which others may also use`,
    isControlPlaneRole(key) ? edit : `${remove}, or ${edit}`,
  );
}

/** The remedy if nodes cannot leave a pool because its labels stay on them. */
function selectByOwnLabel(pool: NodePool): string {
  const { name } = pool.metadata;
  const roleLabel = `${ROLE_PREFIX}${name}=`;
  return `add a label of your own to the selector: \`kubectl label nodes -l ${quotedSelector(membershipSelector(pool))} ${roleLabel}\`, then \`kubectl nodepool edit ${name} --node-selector ${roleLabel}\`; run the command again; future nodes need this label`;
}

/** The patch without values that are already set. */
export function withoutSetValues(live: Readonly<Record<string, string>>, patch: LabelPatch): LabelPatch {
  return Object.fromEntries(Object.entries(patch).filter(([key, value]) => (ownValue(live, key) ?? null) !== value));
}

/** The labels, or annotations, after the patch. */
export function patchedLabels(labels: Record<string, string>, patch: LabelPatch): Record<string, string> {
  const merged = { ...labels };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setOwn(merged, key, value);
  }
  return merged;
}

/** Includes labels that are not set again after removal: they describe the machine. */
function isClusterSet(key: string): boolean {
  return isClusterLabel(key) || FACTS.test(key) || providerOf(key) !== undefined;
}

export function labelOf({ labels }: Node, key: string): string | undefined {
  return ownValue(labels, key);
}

function notFree(node: Node, pool: NodePool, key: string, value: string, live: string | undefined): NodepoolError {
  const has = live === undefined ? `has no label ${key}` : `has the label ${key}=${live}`;
  const next = isClusterSet(key)
    ? 'use other nodes: the cluster itself sets this label'
    : `use other nodes, or change the label: \`kubectl label node ${node.name} ${key}=${value} --overwrite\``;
  return new NodepoolError(
    'input',
    `node ${node.name} ${has}, but members of pool ${pool.metadata.name} have ${key}=${value}`,
    next,
  );
}

function notMet(
  node: Node,
  pool: NodePool,
  { key, operator, values = [], text }: SelectorPart,
  live: string | undefined,
): NodepoolError {
  const has = live === undefined ? `has no label ${key}` : `has the label ${key}=${live}`;
  const change = { In: `${key}=${values[0]}`, Exists: `${key}=`, NotIn: `${key}-`, DoesNotExist: `${key}-` }[operator];
  const next = isClusterSet(key)
    ? 'use other nodes: the cluster itself sets this label'
    : `use other nodes, or change the label: \`kubectl label node ${node.name} ${change ?? `${key}=NUMBER`}${change?.endsWith('-') ? '' : ' --overwrite'}\``;
  return new NodepoolError(
    'input',
    `node ${node.name} ${has}, but members of pool ${pool.metadata.name} meet ${text}`,
    next,
  );
}

/**
 * Labels by which cloud providers and provisioners mark the nodes of a group, most preferred first. If all nodes of a
 * group are in groups of earlier labels, it is the same group under another label.
 */
export const PROVIDER_LABELS: readonly { provider: string; key: string }[] = [
  { provider: 'Karpenter', key: 'karpenter.sh/nodepool' },
  { provider: 'EKS', key: 'eks.amazonaws.com/nodegroup' },
  { provider: 'EKS', key: 'alpha.eksctl.io/nodegroup-name' },
  { provider: 'GKE', key: 'cloud.google.com/gke-nodepool' },
  { provider: 'AKS', key: 'kubernetes.azure.com/agentpool' },
  { provider: 'AKS', key: 'agentpool' },
  { provider: 'DOKS', key: 'doks.digitalocean.com/node-pool' },
];

/** Domains of labels and taints that other tools set on nodes, in addition to PROVIDER_LABELS. */
const MORE_DOMAINS = [
  { provider: 'Karpenter', domain: 'karpenter.k8s.aws' },
  { provider: 'Cluster API', domain: 'node.cluster.x-k8s.io' },
];
const DOMAINS = [
  ...PROVIDER_LABELS.flatMap(({ provider, key }) =>
    key.includes('/') ? [{ provider, domain: key.slice(0, key.indexOf('/')) }] : [],
  ),
  ...MORE_DOMAINS,
];

/** Labels and taints that both the pool and another tool set: the last writer would win. */
export function keysOfOthers({ labels = {}, taints = [], startupTaints = [] }: NodePoolSpec): {
  provider: string;
  key: string;
}[] {
  const keys = new Set([...Object.keys(labels), ...[...taints, ...startupTaints].map(({ key }) => key)]);
  return [...keys].toSorted().flatMap(key => {
    const provider = providerOf(key);
    return provider === undefined ? [] : [{ provider, key }];
  });
}

/** The tool that sets labels and taints with this key on nodes; undefined if none is known. */
function providerOf(key: string): string | undefined {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : undefined;
  const owner =
    domain === undefined
      ? PROVIDER_LABELS.find(label => label.key === key)
      : DOMAINS.find(each => domain === each.domain || domain.endsWith(`.${each.domain}`));
  return owner?.provider;
}
