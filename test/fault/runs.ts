/** The scenario with `reconcile --watch` behind a proxy: begun, and judged against a run without a fault. */
import assert from 'node:assert/strict';
import { type Child, startChild } from './child.ts';
import { converged, type FaultEnv, type Test } from './fault-env.ts';
import type { Model } from './model.ts';
import { assertNeverBack, auditMark, createsAndDeletes, type Snapshot, snapshot } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { CREATES_AND_DELETES, change, prepare } from './scenario.ts';

export interface Start {
  flags?: readonly string[];
  /** What else there is at the start: the same function each time, since the run without a fault has it too. */
  also?: (model: Model) => Promise<unknown>;
  /** Behind which proxy, and as whom. Default: one of its own, as administrator. */
  through?: { proxy: FaultProxy; kubeconfig: string };
}

export interface Watched {
  proxy: FaultProxy;
  model: Model;
  child: Child;
  /** Of the audit log, where the changes begin. */
  mark: number;
}

export interface Run extends Watched {
  /** What the fault-free run ended in. */
  wanted: Snapshot;
}

/** By what is there besides the scenario, else by the testEnv. */
const references = new WeakMap<object, Promise<Snapshot>>();

/** The scenario up to its changes: everything is converged, the process watches. judge() is its end. */
export async function begin(testEnv: FaultEnv, t: Test, start: Start = {}): Promise<Run> {
  const wanted = await faultFree(testEnv, t, start);
  return { ...(await watched(testEnv, t, start)), wanted };
}

/**
 * Waits for the end and judges it: state, creates and deletes, versions asked from.
 * @param more creates and deletes besides those of the scenario
 */
export async function judge(
  testEnv: FaultEnv,
  { proxy, model, wanted, mark }: Run,
  ms?: number,
  more: Record<string, number> = {},
): Promise<void> {
  await converged(model, proxy, ms);
  assert.deepEqual(await snapshot(testEnv.cluster()), wanted);
  assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), { ...CREATES_AND_DELETES, ...more });
  assertNeverBack(proxy.requests);
}

/** As begin(), without a run to compare with: for what does not go through the scenario's changes, or not only. */
export async function watched(testEnv: FaultEnv, t: Test, { flags = [], also, through }: Start = {}): Promise<Watched> {
  const model = testEnv.model();
  const proxy = through?.proxy ?? (await testEnv.proxy(t));
  await prepare(model);
  await also?.(model);
  const child = startChild(t, through ?? proxy, ...flags);
  await child.synced();
  await converged(model, proxy);
  return { proxy, model, child, mark: await auditMark(testEnv.cluster()) };
}

/** Where the scenario ends without a fault, on this server. */
function faultFree(testEnv: FaultEnv, t: Test, { also }: Start): Promise<Snapshot> {
  const key = also ?? testEnv;
  const known = references.get(key) ?? runFaultFree(testEnv, t, also === undefined ? {} : { also });
  references.set(key, known);
  return known;
}

async function runFaultFree(testEnv: FaultEnv, t: Test, start: Start): Promise<Snapshot> {
  const { proxy, model, child, mark } = await watched(testEnv, t, start);
  await change(model);
  await converged(model, proxy);
  assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), CREATES_AND_DELETES);
  const state = await snapshot(testEnv.cluster());
  await child.end();
  await testEnv.clean();
  return state;
}
