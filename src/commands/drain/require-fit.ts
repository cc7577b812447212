/** `drain --check-fit`. */
import { showNote } from '../../cli/error-line.ts';
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { plural } from '../../nodepool/plural.ts';
import { PREEMPTION } from '../../scheduling/not-judged.ts';
import type { DrainPlan } from './plan-drain.ts';

/** Throws NodepoolError with the pods that would find no place. */
export async function requireFit(plan: DrainPlan, connection: Connection, io: Io): Promise<void> {
  const { drainFit } = await import('./drain-fit.ts');
  const { fitting, asked, unfit, stuck, bound, notJudged } = await drainFit(plan, connection);
  for (const text of notJudged) showNote(io, `Not judged: ${text}.`);
  if (unfit.length > 0) {
    showNote(io, `Not judged: ${PREEMPTION}.`);
    const message = `${asked - fitting} of ${plural(asked, 'pod')} would find no place on other nodes; nothing was cordoned`;
    throw new NodepoolError('cluster', message, nextStep(asked - fitting, bound), { items: [...unfit, ...stuck] });
  }
  showNote(io, `All ${plural(asked, 'pod')} that are recreated fit on the other nodes.`);
}

/** No new node helps pods whose volumes only their own node reaches. */
function nextStep(unfit: number, bound: number): string {
  const without = 'drain without --check-fit: they stay Pending until it is uncordoned';
  if (bound === unfit) return `if pods may wait for the node that has their volumes, ${without}`;
  const room = 'add nodes, or drain fewer at a time';
  return bound === 0 ? room : `${room}; for pods whose volumes are on their node alone, ${without}`;
}
