/** Runs the scenario with `reconcile --watch` behind a proxy, and judges it against a run without a fault. */
import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lenderSocket } from '../cluster/lease.ts';
import { type Child, startChild } from './child.ts';
import { converged, type FaultEnv, type Test } from './fault-env.ts';
import type { Model } from './model.ts';
import { assertNeverBack, auditMark, createsAndDeletes, type Snapshot, snapshot } from './oracle.ts';
import type { FaultProxy } from './proxy.ts';
import { CREATES_AND_DELETES, change, prepare } from './scenario.ts';

export interface Start {
  flags?: readonly string[];
  /** Creates further objects at the start: for watched() alone. */
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

let reference: Promise<Snapshot> | undefined;

/** Runs the scenario up to its changes: everything has converged and the process watches. Ends with judge(). */
export async function begin(testEnv: FaultEnv, t: Test, start: Omit<Start, 'also'> = {}): Promise<Run> {
  const wanted = await faultFree(testEnv, t);
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

/** The end state of the scenario without a fault. Of a run of several files, the first one that needs it leaves it to the others. */
async function faultFree(testEnv: FaultEnv, t: Test): Promise<Snapshot> {
  const lender = lenderSocket();
  if (lender === undefined) {
    reference ??= runFaultFree(testEnv, t);
    return reference;
  }
  const file = join(dirname(lender), 'fault-free.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text !== undefined) return JSON.parse(text);
  const state = await runFaultFree(testEnv, t);
  await writeFile(`${file}.${process.pid}`, JSON.stringify(state));
  await rename(`${file}.${process.pid}`, file);
  return state;
}

async function runFaultFree(testEnv: FaultEnv, t: Test): Promise<Snapshot> {
  const { proxy, model, child, mark } = await watched(testEnv, t);
  await change(model);
  await converged(model, proxy);
  assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), CREATES_AND_DELETES);
  const state = await snapshot(testEnv.cluster());
  await child.end();
  await testEnv.clean();
  return state;
}
