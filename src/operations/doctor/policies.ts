/** Whether policies prevent kubelets from changing what pools rely on, and what kubelets could gain without them. */
import {
  KUBELET_REGISTRATION_REMEDY,
  KUBELET_RISK_REMEDY,
  kubeletRegistrationText,
  kubeletRisk,
  kubeletRiskText,
} from '../../nodepool/kubelet-labels.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { MEMBERSHIP } from '../admission-policies.ts';
import { type Finding, ok, warning } from './check.ts';

const INSTALL = 'run `kubectl nodepool install --controller --image IMAGE` again, with the image that runs';
const APPLY =
  'where kubelets are not trusted, apply manifests/protect-records.yaml and manifests/protect-membership.yaml';

/** @param off see policiesOff() */
export function checkPolicies(off: readonly string[], isInstalled: boolean): Finding {
  if (off.length === 0) return ok('admission policies prevent kubelets from changing records and labels of members');
  const details = off.map(name => `${name}: missing, or different from that of this version`);
  if (isInstalled)
    return warning('admission policies that come with the controller are not in force', INSTALL, details);
  return ok(`the admission policies are not applied, and are optional without the controller; ${APPLY}`);
}

/** @param off undefined where they could not be read */
export function checkMembership(pools: readonly NodePool[], off: readonly string[] | undefined): Finding {
  const risks = pools.flatMap(pool => {
    const risk = kubeletRisk(pool);
    return risk === undefined ? [] : [{ pool, risk }];
  });
  const details = risks.map(({ pool, risk }) => `${pool.metadata.name} ${kubeletRiskText(risk)}`);
  if (details.length === 0) return ok('no kubelet gains anything by changing the labels of its node');
  if (off !== undefined && !off.includes(MEMBERSHIP)) {
    const open = risks.filter(({ risk }) => risk.canRegister);
    if (open.length > 0) {
      return warning(
        'a kubelet that registers a new node can join pools, and get what it may not set itself; the admission policy only prevents changes of labels',
        KUBELET_REGISTRATION_REMEDY,
        open.map(({ pool, risk }) => `${pool.metadata.name} ${kubeletRegistrationText(risk, pool)}`),
      );
    }
    return ok(
      'pools select by labels that a kubelet may set; the admission policy prevents it from changing them',
      details,
    );
  }
  return warning(
    'pools select by labels that a kubelet may set, and set for it what it may not set itself',
    KUBELET_RISK_REMEDY,
    details,
  );
}
