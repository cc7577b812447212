/** Runs the scenario with `reconcile --watch` behind a proxy, and judges it against a run without a fault. */
import assert from 'node:assert/strict';
import { type Child, startChild } from './child.ts';
import { converged, type FaultEnv, type Test } from './fault-env.ts';
import type { Model } from './model.ts';
import { assertNeverBack, auditMark, createsAndDeletes, type Snapshot, snapshot } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { CREATES_AND_DELETES, change, prepare } from './scenario.ts';

export interface Start {
  flags?: readonly string[];
  /** Creates further objects at the start; the run without a fault is cached by this function. */
  also?: (model: Model) => Promise<unknown>;
  /** The proxy and the credentials. Default: its own proxy, as administrator. */
  through?: { proxy: FaultProxy; kubeconfig: string };
}

export interface Watched {
  proxy: FaultProxy;
  model: Model;
  child: Child;
  /** The position in the audit log where the changes begin. */
  mark: number;
}

export interface Run extends Watched {
  /** The end state of the fault-free run. */
  wanted: Snapshot;
}

/** Fault-free end states, by `also`, else by test environment. */
const references = new WeakMap<object, Promise<Snapshot>>();

/** Runs the scenario up to its changes: everything has converged and the process watches. Ends with judge(). */
export async function begin(testEnv: FaultEnv, t: Test, start: Start = {}): Promise<Run> {
  const wanted = await faultFree(testEnv, t, start);
  return { ...(await watched(testEnv, t, start)), wanted };
}

/**
 * Waits for the end and judges state, creates and deletes, and the start versions of watches.
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

/** As begin(), without a fault-free run: for tests with other changes than the scenario's. */
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

/** The end state of the scenario without a fault on this server. */
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
