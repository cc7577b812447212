/** `drain --check-fit`. */
import { showNote } from '../../cli/error-line.ts';
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { plural } from '../../nodepool/plural.ts';
import type { DrainPlan } from '../../operations/drain/plan-drain.ts';

const NO_PREEMPTION = 'Not judged: preemption, by which pods of a higher priority take the place of others.';

/** Throws NodepoolError with the pods that would find no place. */
export async function requireFit(plan: DrainPlan, connection: Connection, io: Io): Promise<void> {
  const { drainFit } = await import('../../operations/drain/drain-fit.ts');
  const { fitting, asked, unfit, stuck, notJudged } = await drainFit(plan, connection);
  for (const text of notJudged) showNote(io, `Not judged: ${text}.`);
  if (unfit.length > 0) {
    showNote(io, NO_PREEMPTION);
    const message = `${asked - fitting} of ${plural(asked, 'pod')} would find no place on other nodes; nothing was cordoned`;
    const next = 'add nodes, or drain fewer at a time';
    throw new NodepoolError('cluster', message, next, { items: [...unfit, ...stuck] });
  }
  showNote(io, `All ${plural(asked, 'pod')} that are recreated fit on the other nodes.`);
}
