/** Which nodes belong to a pool. The only file that knows both parts of the selector: labels and expressions. */
import { ownValue } from '../json.ts';
import { type NodePool, POOL_LABEL } from '../types.ts';
import { compileRequirement, meetsNode, type Requirement } from './label-query.ts';

export const ROLE_PREFIX = 'node-role.kubernetes.io/';

const CONTROL_PLANE_ROLES = ['control-plane', 'master', 'etcd'].map(role => ROLE_PREFIX + role);

export const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];
/** A node without the label meets requirements with these operators. */
const ABSENT_OPERATORS = ['NotIn', 'DoesNotExist'];

/** A node matches when it has all labels and meets all expressions. */
export interface Selector {
  labels: Readonly<Record<string, string>>;
  expressions: readonly Requirement[];
}

/** A label or an expression of a selector. */
export interface SelectorPart extends Requirement {
  /** As kubectl writes it: `a=b`, `a in (b,c)`, `!a`, `a>4`. */
  text: string;
}

const NO_EXPRESSIONS: readonly Requirement[] = [];

/** Default if the spec has neither part: `node-role.kubernetes.io/<pool>: ""`. */
export function membershipSelector({ metadata, spec }: NodePool): Selector {
  const { nodeSelector, matchExpressions = NO_EXPRESSIONS } = spec;
  const labels = nodeSelector ?? (hasDefaultSelector(spec) ? { [`${ROLE_PREFIX}${metadata.name}`]: '' } : {});
  return { labels, expressions: matchExpressions };
}

export function hasDefaultSelector({ nodeSelector, matchExpressions }: NodePool['spec']): boolean {
  return nodeSelector === undefined && matchExpressions === undefined;
}

/** An empty selector matches nothing. */
export function matches({ labels: wanted, expressions }: Selector, labels: Readonly<Record<string, string>>): boolean {
  // Called for every node, so this does not build a list of pairs.
  let isEmpty = expressions.length === 0;
  for (const key in wanted) {
    if (ownValue(labels, key) !== wanted[key]) return false;
    isEmpty = false;
  }
  for (const expression of expressions) {
    if (!meetsNode(expression, ownValue(labels, expression.key))) return false;
  }
  return !isEmpty;
}

/** As matches() with this selector, for many nodes. */
export function compileSelector(selector: Selector): (labels: Readonly<Record<string, string>>) => boolean {
  const { labels: wanted, expressions } = selector;
  if (expressions.length === 0) return labels => matches(selector, labels);
  const compiled = expressions.map(expression => ({ key: expression.key, meets: compileRequirement(expression) }));
  const hasLabels = Object.keys(wanted).length > 0;
  return labels => {
    if (hasLabels && !matches({ labels: wanted, expressions: NO_EXPRESSIONS }, labels)) return false;
    for (const { key, meets } of compiled) if (!meets(ownValue(labels, key))) return false;
    return true;
  };
}

export function isEmpty({ labels, expressions }: Selector): boolean {
  return expressions.length === 0 && Object.keys(labels).length === 0;
}

/** Each key once. Other labels do not change the membership of a node. */
export function keysOf({ labels, expressions }: Selector): string[] {
  const keys = Object.keys(labels);
  return expressions.length === 0 ? keys : [...new Set([...keys, ...expressions.map(({ key }) => key)])];
}

/** A label that every matching node has, with one of these values, or with any value. Undefined if there is none. */
export function requiredLabel({ labels, expressions }: Selector): { key: string; values?: string[] } | undefined {
  for (const key in labels) return { key, values: [labels[key] ?? ''] };
  const isIn = expressions.find(({ operator }) => operator === 'In');
  if (isIn !== undefined) return { key: isIn.key, values: [...new Set(isIn.values)] };
  const has = expressions.find(needsLabel);
  return has && { key: has.key };
}

/** False if a node meets the requirement by not having the label. */
export function needsLabel({ operator }: Requirement): boolean {
  return !ABSENT_OPERATORS.includes(operator);
}

/** Labels first, sorted. */
export function partsOf({ labels, expressions }: Selector): SelectorPart[] {
  return [
    ...Object.entries(labels)
      .map(([key, value]) => ({ key, operator: 'In', values: [value], text: `${key}=${value}` }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    ...expressions.map(expression => ({ ...expression, text: expressionText(expression) })),
  ];
}

/** In the syntax of `kubectl get -l`; "" for an empty selector, which would match everything there. */
export function selectorText(selector: Selector): string {
  return partsOf(selector)
    .map(({ text }) => text)
    .join(',');
}

/** The same, quoted as one shell word. */
export function quotedSelector(selector: Selector): string {
  const text = selectorText(selector);
  return /[^\w./=,:@+-]/.test(text) ? `'${text}'` : text;
}

function expressionText({ key, operator, values = [] }: Requirement): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'Gt':
    case 'Lt':
      return `${key}${operator === 'Gt' ? '>' : '<'}${values[0] ?? ''}`;
    default:
      return `${key} ${operator} (${values.join(',')})`;
  }
}

export function memberLabels({ metadata, spec }: NodePool): Record<string, string> {
  const { labels = {}, matchExpressions } = spec;
  return matchExpressions === undefined ? labels : { ...labels, [POOL_LABEL]: metadata.name };
}

export function isControlPlaneRole(key: string): boolean {
  return CONTROL_PLANE_ROLES.includes(key);
}

/** Whether the selector names the control plane: the pool is meant to have these nodes. */
export function requiresControlPlane(selector: Selector): boolean {
  return partsOf(selector).some(part => isControlPlaneRole(part.key) && needsLabel(part));
}

export function controlPlaneRoles(labels: Readonly<Record<string, string>>): string[] {
  return CONTROL_PLANE_ROLES.filter(role => Object.hasOwn(labels, role));
}

export function isControlPlane(labels: Readonly<Record<string, string>>): boolean {
  return CONTROL_PLANE_ROLES.some(role => Object.hasOwn(labels, role));
}
