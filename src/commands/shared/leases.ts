/** Whether a controller runs, according to the leases of `reconcile --watch --leader-elect`. */
import { sleep, systemClock } from '../../controller/clock.ts';
import type { LeasePort, LeaseRecord } from '../../controller/leader-election.ts';
import type { Connection } from '../../kube/connect.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import { CONTROLLER_NAMESPACE, LEASE, LEASE_NAMESPACE } from '../../nodepool/types.ts';
import { valueOrRefusal } from './refusals.ts';

/** Twice the interval of 2 s at which the leader renews the lease. */
const REREAD_MS = 4_000;

export interface LeaseFacts {
  /** Namespaces that may have a lease; the controller in the cluster uses the first. */
  namespaces: readonly string[];
  lease: (namespace: string, name: string) => LeasePort;
  /** The server's clock. */
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
}

export interface SeenLease {
  namespace: string;
  record: LeaseRecord;
  ageMs: number;
  isAlive: boolean;
}

/** The refusal if leases may not be read; undefined if the signal was aborted before the second read. */
export async function controllerRuns(
  { cluster, lease }: Pick<Connection, 'cluster' | 'lease'>,
  signal: AbortSignal,
): Promise<boolean | NodepoolError | undefined> {
  let isCut = false;
  const facts = {
    namespaces: [CONTROLLER_NAMESPACE, LEASE_NAMESPACE],
    lease,
    now: () => cluster.nodes.serverTime(),
    sleep: async (ms: number) => {
      await sleep(systemClock, ms, signal);
      isCut ||= signal.aborted;
    },
  };
  const leases = await valueOrRefusal(() => readLeases(facts));
  if (isCut) return undefined;
  return 'refusal' in leases ? leases.refusal : leases.value.some(({ isAlive }) => isAlive);
}

export async function readLeases(facts: LeaseFacts): Promise<SeenLease[]> {
  const leases = await Promise.all(facts.namespaces.map(namespace => readLease(namespace, facts)));
  return leases.filter(lease => lease !== undefined);
}

/** The time in a lease is from its holder's clock, which may be wrong: a lease that looks expired is read twice. */
async function readLease(namespace: string, { lease, now, sleep }: LeaseFacts): Promise<SeenLease | undefined> {
  const port = lease(namespace, LEASE);
  const first = await port.get();
  if (first === undefined) return undefined;
  const { record } = first;
  const ageMs = now().getTime() - record.renewed.getTime();
  if (record.holder === '' || isTimely(ageMs, record)) {
    return { namespace, record, ageMs, isAlive: record.holder !== '' };
  }
  await sleep(REREAD_MS);
  const second = await port.get();
  if (second === undefined) return undefined;
  const isAlive = second.resourceVersion !== first.resourceVersion && second.record.holder !== '';
  return { namespace, record: second.record, ageMs: now().getTime() - second.record.renewed.getTime(), isAlive };
}

export function isTimely(ageMs: number, { durationSeconds }: LeaseRecord): boolean {
  return Math.abs(ageMs) <= durationSeconds * 1000;
}
