/** Checks whether a controller runs, by its leases and its Deployment. */
import type { ManifestObject } from '../../kube/resources/manifests.ts';
import { isObject } from '../../nodepool/json.ts';
import { plural } from '../../nodepool/text.ts';
import { LEASE } from '../../nodepool/types.ts';
import { type CheckFinding, error, ok, warning } from '../shared/check.ts';
import { helmReleaseOf, helmUpgrade } from '../shared/install/foreign-objects.ts';
import { isTimely, type SeenLease } from '../shared/leases.ts';

/** @param controllerNamespace where the controller in the cluster has its lease */
export async function checkController(
  leases: Promise<readonly SeenLease[]>,
  { controllerNamespace, findDeployment }: { controllerNamespace: string; findDeployment: FindDeployment },
): Promise<CheckFinding> {
  const [deployment, seen] = await Promise.all([findDeployment(), leases]);
  const alive = seen.filter(({ isAlive }) => isAlive);
  const details = seen.map(leaseText);
  if (alive.length > 1) {
    const remedy = `stop one, or make both use the same lease: --leader-elect-namespace ${controllerNamespace}`;
    return warning('two controllers run, each with its own lease', remedy, details);
  }
  if (deployment !== undefined && !alive.some(({ namespace }) => namespace === controllerNamespace)) {
    if (isObject(deployment.spec) && deployment.spec.replicas === 0) {
      return error(
        'the controller is installed but not running: its Deployment has 0 replicas',
        `start it: kubectl -n ${controllerNamespace} scale deployment nodepool-controller --replicas 2`,
        details,
      );
    }
    return error(
      'the controller is installed but not running',
      `see its pods and logs: kubectl -n ${controllerNamespace} get deployments,pods; kubectl -n ${controllerNamespace} logs -l app.kubernetes.io/name=nodepool-controller --prefix`,
      details,
    );
  }
  if (alive.length === 1) return ok('a controller is running', details);
  const dead = seen.find(({ record }) => record.holder !== '');
  if (dead === undefined) return ok('no controller is running; run `kubectl nodepool reconcile` to apply pools');
  return warning(
    'a controller exited without releasing its lease, and no other controller has acquired the lease',
    `start the controller again, or delete its lease: \`kubectl -n ${dead.namespace} delete lease ${LEASE}\``,
    details,
  );
}

function leaseText({ namespace, record, ageMs, isAlive }: SeenLease): string {
  const lease = `lease ${namespace}/${LEASE}`;
  const seconds = plural(Math.round(Math.abs(ageMs) / 1000), 'second');
  const { holder, durationSeconds } = record;
  if (holder === '') return `${lease}: released ${ageMs < 0 ? 'just now' : `${seconds} ago`}`;
  const leaseAndHolder = `${lease}: held by ${holder}`;
  if (isAlive && isTimely(ageMs, record))
    return `${leaseAndHolder}, renewed ${ageMs < 0 ? 'just now' : `${seconds} ago`}`;
  const clock = `by a clock ${seconds} ${ageMs < 0 ? 'ahead of' : 'behind'} the server's`;
  if (isAlive) return `${leaseAndHolder}, renewed just now ${clock}`;
  return ageMs < 0
    ? `${leaseAndHolder}, lease expired; ${clock}`
    : `${leaseAndHolder}, renewed ${seconds} ago; it lasts ${durationSeconds}`;
}

// The controller in the cluster, according to its Deployment.

/** The live Deployment; undefined when the controller is not installed. */
export type FindDeployment = () => Promise<ManifestObject | undefined>;

/** The command that restores the controller's objects, depending on the tool that installed them. */
export function reinstallRemedy(deployment: ManifestObject): string {
  const release = helmReleaseOf(deployment);
  return release === undefined
    ? 'run `kubectl nodepool install --controller --image IMAGE` again with the image in use'
    : `run \`${helmUpgrade(release)}\` with the installed version`;
}

export function evictionsFlag(deployment: ManifestObject): string {
  return helmReleaseOf(deployment) === undefined ? '--evictions' : '--set evictions=true';
}
