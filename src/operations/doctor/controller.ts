/** Whether somebody looks after the pools: the leases of `reconcile --watch --leader-elect`, here and in the cluster. */
import type { LeaseRecord } from '../../controller/leader-election.ts';
import type { LeasePort } from '../ports.ts';
import { error, type Finding, ok, plural, warning } from './check.ts';

/** As `reconcile --watch --leader-elect` has them unless it is told otherwise. */
export const LEASE = 'kubectl-nodepool';
export const DEFAULT_LEASE_NAMESPACE = 'kube-system';

export interface ControllerFacts {
  /** Where a lease may be; the first is where the controller in the cluster has its own. */
  namespaces: readonly string[];
  isInstalled: () => Promise<boolean>;
  lease: (namespace: string, name: string) => LeasePort;
  /** By the server's clock. */
  now: () => Date;
}

interface Seen {
  namespace: string;
  record: LeaseRecord;
  ageMs: number;
  isAlive: boolean;
}

export async function checkController({ namespaces, isInstalled, lease, now }: ControllerFacts): Promise<Finding> {
  const [installed, ...leases] = await Promise.all([
    isInstalled(),
    ...namespaces.map(async namespace => ({ namespace, lease: await lease(namespace, LEASE).get() })),
  ]);
  const seen = leases.flatMap(({ namespace, lease: found }): Seen[] => {
    if (found === undefined) return [];
    const { record } = found;
    const ageMs = Math.max(0, now().getTime() - record.renewed.getTime());
    return [{ namespace, record, ageMs, isAlive: record.holder !== '' && ageMs <= record.durationSeconds * 1000 }];
  });
  const alive = seen.filter(({ isAlive }) => isAlive);
  const details = seen.map(leaseText);
  if (alive.length > 1) {
    const remedy = `stop one, or give both one lease: --leader-elect-namespace ${namespaces[0]}`;
    return warning('two controllers are at work, each with a lease of its own', remedy, details);
  }
  const [own] = namespaces;
  if (installed && !alive.some(({ namespace }) => namespace === own)) {
    return error(
      'the controller is installed in the cluster and not at work',
      `look at its pods and their log: kubectl -n ${own} get pods; kubectl -n ${own} logs deploy/nodepool-controller`,
      details,
    );
  }
  if (alive.length === 1) return ok('a controller is at work', details);
  const dead = seen.find(({ record }) => record.holder !== '');
  if (dead === undefined) return ok('no controller is at work: pools are reconciled when somebody runs `reconcile`');
  return warning(
    'a controller went away without giving its lease back, and none has taken its place',
    `start it again, or run \`kubectl -n ${dead.namespace} delete lease ${LEASE}\` if it is not to come back`,
    details,
  );
}

function leaseText({ namespace, record: { holder, durationSeconds }, ageMs, isAlive }: Seen): string {
  const lease = `lease ${namespace}/${LEASE}`;
  const seconds = plural(Math.round(ageMs / 1000), 'second');
  if (holder === '') return `${lease}: given back ${seconds} ago`;
  const end = isAlive ? '' : `; it lasts ${durationSeconds}`;
  return `${lease}: held by ${holder}, renewed ${seconds} ago${end}`;
}
