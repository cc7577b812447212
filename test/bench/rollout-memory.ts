/**
 * Memory of `reconcile --watch` when a changed label reaches all nodes: at once, and in the steps of a rollout. Resident memory
 * 15 s after the end, and the peak. The rollout takes longer, and writes as many nodes, but more statuses and Events: that is part
 * of using it, so it is not subtracted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, type NodePool } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type ProgressStream, step } from '../cluster/progress.ts';
import { raw } from '../cluster/raw.ts';
import { startWatch } from './change-to-write.ts';
import type { Figure } from './figure.ts';
import type { Command } from './race.ts';
import { median } from './statistics.ts';
import { type Memory, memoryOf } from './usage.ts';

const PATH = `/apis/${API_VERSION}/nodepools`;
/** Ten steps, of which each has to settle. */
const IN_STEPS = { canary: 1, maxConcurrent: '10%', settleSeconds: 1 };
const ROUNDS = 3;
const MAX_RATIO = 1.05;
const LOOK_MS = 1_000;
const SETTLE_MS = 15_000;
const MAX_MS = 300_000;

/** On a cluster whose pools are reconciled. */
export async function rolloutMemory(
  cluster: ControlPlane,
  command: Command,
  progress: ProgressStream,
): Promise<Figure[]> {
  const atOnce: Memory[] = [];
  const inSteps: Memory[] = [];
  // In turns, so that a drift of the machine concerns both.
  for (let round = 1; round <= ROUNDS; round++) {
    const measure = (what: string, rollout: object | null) =>
      step(progress, `round ${round} of ${ROUNDS}: a changed label, ${what}`, () =>
        memoryOfChange(cluster, command, `${what}-${round}`.replaceAll(' ', '-'), rollout),
      );
    atOnce.push(await measure('at once', null));
    inSteps.push(await measure('in steps', IN_STEPS));
  }
  const compared = (what: string, field: 'now' | 'peak'): Figure[] => {
    const of = (samples: Memory[]) => median(samples.map(sample => sample[field]));
    const [before, after] = [of(atOnce), of(inSteps)];
    return [
      { name: `${what}, a label changed on all nodes at once`, value: before, unit: 'MB' },
      { name: `${what}, a rollout in steps`, value: after, unit: 'MB' },
      { name: `${what}, in steps relative to at once`, value: after / before, unit: 'x', most: MAX_RATIO },
    ];
  };
  return [...compared('memory after it', 'now'), ...compared('peak of the memory', 'peak')];
}

/** Of a watch that was started before the change. */
async function memoryOfChange(
  cluster: ControlPlane,
  command: Command,
  value: string,
  rollout: object | null,
): Promise<Memory> {
  const client = raw(cluster);
  const { pid, end } = await startWatch(cluster, command);
  for (const { metadata } of await poolsOf(cluster)) {
    const spec = { labels: { 'example.com/step': value }, rollout };
    await client.expect('PATCH', `${PATH}/${metadata.name}`, { spec });
  }
  const limit = performance.now() + MAX_MS;
  while (!(await poolsOf(cluster)).every(isRolledOut)) {
    if (performance.now() > limit) throw new Error(`the label did not reach all nodes within ${MAX_MS / 1000} s`);
    await sleep(LOOK_MS);
  }
  // Statuses and Events follow, and what they leave is collected.
  await sleep(SETTLE_MS);
  const memory = await memoryOf(pid);
  await end();
  return memory;
}

async function poolsOf(cluster: ControlPlane): Promise<NodePool[]> {
  return ((await raw(cluster).expect('GET', PATH)) as { items: NodePool[] }).items;
}

function isRolledOut({ metadata, status }: NodePool): boolean {
  const isWaiting = status?.conditions?.some(({ type, status }) => type === 'Reconciling' && status === 'True');
  const isCounted = (status?.nodeCount ?? 0) > 0 && status?.updatedNodeCount === status?.nodeCount;
  return status?.observedGeneration === metadata.generation && isCounted && isWaiting !== true;
}
