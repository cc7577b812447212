/** The scenario with `reconcile --watch` behind a proxy: begun, and judged against a run without a fault. */
import assert from 'node:assert/strict';
import { type Child, startChild } from './child.ts';
import type { Model } from './model.ts';
import { assertNeverBack, auditMark, createsAndDeletes, type Snapshot, snapshot } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { CREATES_AND_DELETES, change, prepare } from './scenario.ts';
import { type FaultWorld, settled, type Test } from './world.ts';

export interface Run {
  proxy: FaultProxy;
  model: Model;
  child: Child;
  /** Of the audit log, where the changes begin. */
  mark: number;
  /** What the fault-free run ended in. */
  wanted: Snapshot;
}

const references = new WeakMap<FaultWorld, Promise<Snapshot>>();

/** The scenario up to its changes: everything is settled, the process watches. */
export async function begin(world: FaultWorld, t: Test, ...flags: string[]): Promise<Run> {
  const wanted = await faultFree(world, t);
  return { ...(await start(world, t, flags)), wanted };
}

/** Waits for the end and judges it: state, creates and deletes, versions asked from. */
export async function judge(world: FaultWorld, { proxy, model, wanted, mark }: Run, ms?: number): Promise<void> {
  await settled(model, proxy, ms);
  assert.deepEqual(await snapshot(world.cluster()), wanted);
  assert.deepEqual(await createsAndDeletes(world.cluster(), mark), CREATES_AND_DELETES);
  assertNeverBack(proxy.requests);
}

/** Where the scenario ends without a fault, on this server; run once a world. */
function faultFree(world: FaultWorld, t: Test): Promise<Snapshot> {
  const known = references.get(world) ?? runFaultFree(world, t);
  references.set(world, known);
  return known;
}

async function runFaultFree(world: FaultWorld, t: Test): Promise<Snapshot> {
  const { proxy, model, child, mark } = await start(world, t, []);
  await change(model);
  await settled(model, proxy);
  assert.deepEqual(await createsAndDeletes(world.cluster(), mark), CREATES_AND_DELETES);
  const state = await snapshot(world.cluster());
  await child.end();
  await world.clean();
  return state;
}

async function start(world: FaultWorld, t: Test, flags: string[]): Promise<Omit<Run, 'wanted'>> {
  const [proxy, model] = [await world.proxy(t), world.model()];
  await prepare(model);
  const child = startChild(t, proxy, ...flags);
  await child.synced();
  await settled(model, proxy);
  return { proxy, model, child, mark: await auditMark(world.cluster()) };
}
