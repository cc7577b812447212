/**
 * Which labels a kubelet may set on its own node, and what a pool that selects by such labels exposes. Source: the
 * admission plugin NodeRestriction (plugin/pkg/admission/noderestriction) and k8s.io/kubelet pkg/apis.
 */
import { noun } from './plural.ts';
import { membershipSelector } from './selector.ts';
import { formatTaint } from './syntax.ts';
import type { NodePool } from './types.ts';

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
const RESTRICTED_DOMAIN = 'node-restriction.kubernetes.io';
const KUBELET_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];

export function isKubeletSettable(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  if (isWithin(domain, [RESTRICTED_DOMAIN])) return false;
  return KUBELET_LABELS.includes(key) || isWithin(domain, KUBELET_DOMAINS) || !isWithin(domain, KUBERNETES_DOMAINS);
}

interface KubeletRisk {
  /** The labels of the selector that a kubelet may set, sorted. */
  keys: string[];
  /** Labels of the pool that a kubelet may not set but gets by joining, sorted. */
  gains: string[];
  /**
   * Whether a kubelet also gets them by registering a new node while manifests/protect-membership.yaml is applied. The
   * policy refuses registration only for labels of node-restriction.kubernetes.io: kubelets of cloud node groups
   * register with group labels.
   */
  canRegister: boolean;
  /** Whether the pool has taints, which a node loses when it leaves. */
  shedsTaints: boolean;
}

/**
 * What a kubelet could gain by changing labels of its own node. It can join the pool if it may set all labels of the
 * selector, and leave it if it may set any. Undefined when there is nothing to gain, or when the pool allows it.
 */
export function kubeletRisk(pool: NodePool): KubeletRisk | undefined {
  if (pool.metadata.annotations?.[KUBELET_MEMBERSHIP] === 'Allow') return undefined;
  const selector = Object.keys(membershipSelector(pool));
  const keys = selector.filter(isKubeletSettable).toSorted();
  if (keys.length === 0) return undefined;
  const labels = Object.keys(pool.spec.labels ?? {});
  const gains = keys.length === selector.length ? labels.filter(key => !isKubeletSettable(key)).toSorted() : [];
  const isRestricted = (key: string) => isWithin(key.split('/', 1)[0] ?? '', [RESTRICTED_DOMAIN]);
  const canRegister = gains.length > 0 && !gains.some(isRestricted);
  const shedsTaints = (pool.spec.taints ?? []).length > 0;
  return gains.length > 0 || shedsTaints ? { keys, gains, canRegister, shedsTaints } : undefined;
}

/** Follows the name of the pool. */
export function kubeletRiskText({ keys, gains, shedsTaints }: KubeletRisk): string {
  const effects = [
    ...(gains.length > 0 ? [`get ${gains.join(', ')}`] : []),
    ...(shedsTaints ? ['lose the taints of the pool'] : []),
  ];
  return `selects by ${keys.join(', ')}, which a kubelet may set on its own node to ${effects.join(' and ')}`;
}

/** What a node gets when its kubelet registers it into the pool. Follows the name of the pool. */
export function kubeletRegistrationText({ keys, gains }: KubeletRisk, { spec }: NodePool): string {
  const taints = (spec.taints ?? []).map(formatTaint);
  const more = taints.length === 0 ? '' : `, and the ${noun(taints.length, 'taint')} ${taints.join(', ')}`;
  return `selects by ${keys.join(', ')}, with which a kubelet may register a new node: it gets the ${noun(gains.length, 'label')} ${gains.join(', ')}${more}`;
}

/** An imperative without a trailing full stop. */
export const KUBELET_REGISTRATION_REMEDY = `select by a label under ${RESTRICTED_DOMAIN}/, which no kubelet may set, or annotate the pool with ${KUBELET_MEMBERSHIP}=Allow if that is meant`;

/** An imperative without a trailing full stop. */
export const KUBELET_RISK_REMEDY = `select by a label under node-restriction.kubernetes.io/, apply manifests/protect-membership.yaml as install --controller does, or annotate the pool with ${KUBELET_MEMBERSHIP}=Allow if that is meant`;

/** For warnings, which have no room for the remedies. */
export const KUBELET_RISK_PAGE =
  'https://github.com/lailin-xyz/kubectl-nodepool/blob/main/docs/in-cluster.md#admission-policies';

function isWithin(domain: string, domains: readonly string[]): boolean {
  return domains.some(parent => domain === parent || domain.endsWith(`.${parent}`));
}
