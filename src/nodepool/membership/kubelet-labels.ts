/**
 * Which labels a kubelet may set on its own node, and the risk for a pool that selects by them. Source: the admission
 * plugin NodeRestriction (plugin/pkg/admission/noderestriction) and k8s.io/kubelet pkg/apis.
 */

import { formatTaint } from '../spec/syntax.ts';
import { noun } from '../text.ts';
import type { NodePool, Taint } from '../types.ts';
import { isEmpty, keysOf, memberLabels, membershipSelector, needsLabel, partsOf } from './selector.ts';

/** Annotation on a pool. `Allow`: kubelets may choose its members, and manifests/protect-membership.yaml exempts it. */
const KUBELET_MEMBERSHIP = 'nodes.lailin.xyz/kubelet-membership';

const KUBELET_LABELS = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
];
/** A kubelet may never set labels of this domain. */
export const RESTRICTED_DOMAIN = 'node-restriction.kubernetes.io';
const KUBELET_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];

export function isKubeletSettable(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  if (isWithin(domain, [RESTRICTED_DOMAIN])) return false;
  return KUBELET_LABELS.includes(key) || isWithin(domain, KUBELET_DOMAINS) || !isWithin(domain, KUBERNETES_DOMAINS);
}

interface KubeletRisk {
  /**
   * The labels of the selector that a kubelet may set, sorted. Empty if it can only register a new node: the pool
   * selects nodes without labels that no kubelet may set.
   */
  keys: string[];
  /** Labels of the pool that a kubelet may not set but gets by joining the pool, sorted. */
  gains: string[];
  /**
   * Whether a kubelet also gets them by registering a new node while manifests/protect-membership.yaml is applied. The
   * policy refuses registrations only for labels of node-restriction.kubernetes.io, as kubelets of cloud node groups
   * register with group labels; and not for a pool that requires no label, as no node could register then.
   */
  canRegister: boolean;
  /** The labels for which the policy refuses to register a node into the pool, sorted. */
  refused: string[];
  /** Whether the pool has taints, which a node loses when it leaves the pool. */
  shedsTaints: boolean;
  /**
   * The labels by which the RuntimeClass of a pool with expressions selects, if a kubelet may set them all: its node
   * then gets pods without being a member. manifests/protect-membership.yaml prevents this, also at registration.
   */
  classKeys: string[];
}

/**
 * What a kubelet can gain by changing labels of its own node. It can join the pool if it may set, or need not have,
 * each required label. It can leave the pool if it may set any label of the selector. Undefined if there is nothing to
 * gain, or if the pool allows it.
 */
export function kubeletRisk(pool: NodePool): KubeletRisk | undefined {
  if (pool.metadata.annotations?.[KUBELET_MEMBERSHIP] === 'Allow') return undefined;
  const selector = membershipSelector(pool);
  if (isEmpty(selector)) return undefined;
  const needed = partsOf(selector).filter(needsLabel);
  const keys = keysOf(selector).filter(isKubeletSettable).toSorted();
  const labels = Object.keys(pool.spec.labels ?? {});
  const mayJoin = needed.every(({ key }) => isKubeletSettable(key));
  const gains = mayJoin ? labels.filter(key => !isKubeletSettable(key)).toSorted() : [];
  const isRestricted = (key: string) => isWithin(key.split('/', 1)[0] ?? '', [RESTRICTED_DOMAIN]);
  const refused = needed.length === 0 ? [] : gains.filter(isRestricted);
  const canRegister = gains.length > 0 && refused.length === 0;
  const shedsTaints = keys.length > 0 && taintsOf(pool).length > 0;
  const classKeys = settableClassKeys(pool);
  if (gains.length === 0 && !shedsTaints && classKeys.length === 0) return undefined;
  return { keys, gains, canRegister, refused, shedsTaints, classKeys };
}

/** Without expressions, members have all labels of the RuntimeClass: a kubelet that may set them can join anyway. */
function settableClassKeys(pool: NodePool): string[] {
  if (!pool.spec.handler || pool.spec.matchExpressions === undefined) return [];
  const keys = [...Object.keys(membershipSelector(pool).labels), ...Object.keys(memberLabels(pool))];
  return keys.every(isKubeletSettable) ? keys.toSorted() : [];
}

/** Follows the name of the pool. */
export function kubeletRiskText(risk: KubeletRisk): string {
  const { gains, shedsTaints, classKeys } = risk;
  const by = `has a RuntimeClass that selects by ${classKeys.join(', ')}; kubelets can set these labels on their own node and so attract its pods`;
  const texts = [
    ...(gains.length > 0 || shedsTaints ? [memberRiskText(risk)] : []),
    ...(classKeys.length > 0 ? [by] : []),
  ];
  return texts.join(', and ');
}

function memberRiskText({ keys, gains, shedsTaints }: KubeletRisk): string {
  if (keys.length === 0)
    return `selects nodes without a label; kubelets can register a new node and so get ${gains.join(', ')}`;
  const effects = [
    ...(gains.length > 0 ? [`get ${gains.join(', ')}`] : []),
    ...(shedsTaints ? ['leave the pool and its taints'] : []),
  ];
  return `selects by ${keys.join(', ')}; kubelets can change ${keys.length === 1 ? 'this label' : 'these labels'} on their own node and so ${effects.join(' and ')}`;
}

/**
 * What a node gets if its kubelet registers it into the pool while the policy is applied, or that the policy refuses
 * it. Follows the name of the pool. Undefined if a registration gains nothing and is not refused.
 */
export function kubeletRegistrationText(risk: KubeletRisk, pool: NodePool): string | undefined {
  const { keys, gains, canRegister, refused } = risk;
  if (refused.length > 0)
    return `selects by ${keys.join(', ')} and sets ${refused.join(', ')}: the admission policy refuses new nodes that register with the pool's membership labels`;
  if (!canRegister) return undefined;
  const taints = taintsOf(pool).map(formatTaint);
  const more = taints.length === 0 ? '' : `, and the ${noun(taints.length, 'taint')} ${taints.join(', ')}`;
  const how = keys.length === 0 ? 'selects nodes without a label;' : `selects by ${keys.join(', ')};`;
  return `${how} kubelets that register a new node get the ${noun(gains.length, 'label')} ${gains.join(', ')}${more}`;
}

/** An imperative without a trailing full stop. */
export const KUBELET_REGISTRATION_REMEDY = `select by a label under ${RESTRICTED_DOMAIN}/, which no kubelet may set, or to accept this, annotate the pool with ${KUBELET_MEMBERSHIP}=Allow`;

/** An imperative without a trailing full stop. */
export const KUBELET_RISK_REMEDY = `run \`kubectl nodepool install --policies\`, select by a label under ${RESTRICTED_DOMAIN}/, or to accept this, annotate the pool with ${KUBELET_MEMBERSHIP}=Allow`;

/** For warnings, which are too short for the remedies. */
export const KUBELET_RISK_PAGE =
  'https://github.com/lailin-xyz/kubectl-nodepool/blob/main/docs/in-cluster.md#admission-policies';

function taintsOf({ spec: { taints = [], startupTaints = [] } }: NodePool): Taint[] {
  return [...taints, ...startupTaints];
}

function isWithin(domain: string, domains: readonly string[]): boolean {
  return domains.some(parent => domain === parent || domain.endsWith(`.${parent}`));
}
