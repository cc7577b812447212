/** Whether a controller runs: the leases of `reconcile --watch --leader-elect`, here and in the cluster. */
import type { LeasePort, LeaseRecord } from '../../controller/leader-election.ts';
import { LEASE } from '../../nodepool/types.ts';

/** The leader renews the lease every 2 s. */
const REREAD_MS = 4_000;

export interface LeaseFacts {
  /** Where a lease may be; the first is where the controller in the cluster has its own. */
  namespaces: readonly string[];
  lease: (namespace: string, name: string) => LeasePort;
  /** By the server's clock. */
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
}

export interface SeenLease {
  namespace: string;
  record: LeaseRecord;
  ageMs: number;
  isAlive: boolean;
}

export async function readLeases(facts: LeaseFacts): Promise<SeenLease[]> {
  const leases = await Promise.all(facts.namespaces.map(namespace => readLease(namespace, facts)));
  return leases.filter(lease => lease !== undefined);
}

/** The time in a lease is by its holder's clock, which may be wrong: a lease that looks expired is read a second time. */
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
