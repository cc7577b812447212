/**
 * Judges a run with faults as sieve does: by its end state, its creates and deletes, and the resourceVersions that its
 * watches started from.
 */
import assert from 'node:assert/strict';
import { type NodePool, RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { type Asked, isWatch } from './asked.ts';
import { annotationsOf, readLive } from './expected.ts';
import { taintId } from './model.ts';

/** What two runs of one scenario must have in common: no UIDs, no times. */
export interface Snapshot {
  nodes: Record<string, { labels: unknown; taints: string[]; annotations: unknown; record: unknown }>;
  pools: Record<string, unknown>;
  runtimeClasses: Record<string, unknown>;
}

export async function snapshot(cluster: ControlPlane): Promise<Snapshot> {
  const { nodes, pools, classes } = await readLive({ client: raw(cluster) });
  const state = {
    nodes: Object.fromEntries(
      nodes.map(({ metadata, spec }) => {
        const taints = (spec.taints ?? []).map(taint => `${taintId(taint)}=${taint.value ?? ''}`).sort();
        const [annotations, record] = [annotationsOf(metadata), metadata.annotations?.[RECORD_ANNOTATION]];
        return [metadata.name, { labels: metadata.labels, taints, annotations, record }];
      }),
    ),
    pools: Object.fromEntries(pools.map(pool => [pool.metadata.name, withoutTimes(pool)])),
    runtimeClasses: Object.fromEntries(
      classes.map(({ metadata, handler, scheduling }) => [metadata.name, { handler, scheduling }]),
    ),
  };
  // As one that comes from a file: without undefined fields.
  return JSON.parse(JSON.stringify(state));
}

function withoutTimes({ metadata, spec, status }: NodePool) {
  const conditions = status?.conditions?.map(({ lastTransitionTime: _time, ...rest }) => rest);
  const { finalizers, deletionTimestamp } = metadata;
  return { finalizers, isDeleted: deletionTimestamp !== undefined, spec, status: { ...status, conditions } };
}

/** The current end of the audit log, for the counts below. The cluster needs `audit`. */
export async function auditMark(cluster: ControlPlane): Promise<number> {
  return (await readAudit(cluster)).length;
}

/**
 * The successful creates and deletes of the product since the mark, for each object: `create runtimeclasses
 * node-pool-x`. Without events, leases and revisions: how many specs a run sees depends on its faults (killed.test.ts counts them).
 */
export async function createsAndDeletes(cluster: ControlPlane, mark = 0): Promise<Record<string, number>> {
  return counts(
    (await productWrites(cluster, mark)).filter(
      ({ verb, resource }) => (verb === 'create' || verb === 'delete') && resource !== 'controllerrevisions',
    ),
  );
}

/** The same for all writes, patches too. */
export async function writes(cluster: ControlPlane, mark = 0): Promise<Record<string, number>> {
  return counts(await productWrites(cluster, mark));
}

const NOT_COUNTED = /^(events|leases|selfsubjectaccessreviews)$/;

async function productWrites(cluster: ControlPlane, mark: number) {
  return (
    (await readAudit(cluster))
      .slice(mark)
      .filter(({ userAgent, code }) => userAgent.startsWith('kubectl-nodepool/') && code < 300)
      // An access review asks what is missing after a refusal, and is never stored.
      .filter(({ verb, resource }) => /^(create|delete|patch)$/.test(verb) && !NOT_COUNTED.test(resource))
  );
}

function counts(events: { verb: string; resource: string; name: string }[]): Record<string, number> {
  const names = events.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`).sort();
  return Object.fromEntries([...Map.groupBy(names, name => name)].map(([name, alike]) => [name, alike.length]));
}

/**
 * Fails when a process starts a watch from an older version than an earlier one.
 * @param requests of one process
 */
export function assertNeverBack(requests: readonly Asked[]): void {
  const newest = new Map<string, bigint>();
  for (const { path, query } of requests.filter(isWatch)) {
    const version = query.get('resourceVersion');
    if (version === null) continue;
    const before = newest.get(path) ?? 0n;
    assert.ok(BigInt(version) >= before, `${path} was watched from ${version} after ${before}`);
    newest.set(path, BigInt(version));
  }
}
