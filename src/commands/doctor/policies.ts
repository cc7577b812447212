/** Whether policies prevent kubelets from changing what pools rely on, and what kubelets could gain without them. */
import type { ManifestObject } from '../../kube/resources/manifests.ts';
import {
  KUBELET_REGISTRATION_REMEDY,
  KUBELET_RISK_REMEDY,
  kubeletRegistrationText,
  kubeletRisk,
  kubeletRiskText,
  RESTRICTED_DOMAIN,
} from '../../nodepool/membership/kubelet-labels.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type Finding, ok, warning } from '../shared/check.ts';
import { type BornInPool, MEMBERSHIP, RECORDS } from '../shared/install/admission-policies.ts';
import { reinstallRemedy } from './controller.ts';

const APPLY =
  'where kubelets are not trusted, apply manifests/protect-records.yaml and manifests/protect-membership.yaml';

const REINSTALL = 'run `kubectl nodepool install --admission` again, or remove it with `uninstall --controller`';

/** @param off see policiesOff(), of those that bind kubelets */
export function checkPolicies(
  off: readonly string[],
  deployment: ManifestObject | undefined,
  born: BornInPool = { kind: 'absent' },
): Finding {
  if (born.kind === 'installed' && (born.off.length > 0 || off.includes(RECORDS))) {
    const message =
      born.off.length > 0
        ? 'nodes may register without the labels and taints of their pool: the admission policy for them is not in force'
        : 'kubelets can write which labels and taints their new node got from its pool: that policy is not in force';
    return warning(message, REINSTALL, [...born.off, ...off].map(notInForce));
  }
  if (off.length === 0) return ok('admission policies prevent kubelets from changing records and labels of members');
  const details = off.map(notInForce);
  if (deployment !== undefined) {
    const message = 'admission policies that come with the controller are not in force';
    return warning(message, reinstallRemedy(deployment), details);
  }
  // Somebody has applied them, and relies on both.
  if (born.kind === 'installed' || off.length === 1)
    return warning(
      'admission policies are only partly in force',
      'apply manifests/protect-records.yaml and manifests/protect-membership.yaml again',
      details,
    );
  return ok(`the admission policies are not applied, and are optional without the controller; ${APPLY}`);
}

function notInForce(name: string): string {
  return `${name}: missing, or different from that of this version`;
}

/** @param off undefined where they could not be read */
export function checkMembership(pools: readonly NodePool[], off: readonly string[] | undefined): Finding {
  const risks = pools.flatMap(pool => {
    const risk = kubeletRisk(pool);
    return risk === undefined ? [] : [{ pool, risk }];
  });
  const details = risks.map(({ pool, risk }) => `${pool.metadata.name} ${kubeletRiskText(risk)}`);
  if (details.length === 0) return ok('no kubelet gains anything by changing the labels of its node');
  if (off !== undefined && !off.includes(MEMBERSHIP) && !off.includes(RECORDS)) {
    const registrations = risks.flatMap(({ pool, risk }) => {
      const text = kubeletRegistrationText(risk, pool);
      return text === undefined ? [] : [`${pool.metadata.name} ${text}`];
    });
    if (registrations.length > 0) {
      const message = risks.some(({ risk }) => risk.canRegister)
        ? 'a kubelet that registers a new node can join pools, and get what it may not set itself; the admission policy only prevents changes of labels'
        : `new nodes cannot register into pools that give labels of ${RESTRICTED_DOMAIN}: the admission policy refuses them`;
      return warning(message, KUBELET_REGISTRATION_REMEDY, registrations);
    }
    return ok(
      'pools select by labels that a kubelet may set; the admission policy prevents it from changing them',
      details,
    );
  }
  const isMember = risks.some(({ risk }) => risk.gains.length > 0 || risk.shedsTaints);
  return warning(
    isMember
      ? 'pools select by labels that a kubelet may set, and set for it what it may not set itself'
      : 'RuntimeClasses of pools select by labels that a kubelet may set',
    KUBELET_RISK_REMEDY,
    details,
  );
}
