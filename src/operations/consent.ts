/**
 * Consent: from a plan to a plan that was agreed to. While a person reads the question, the cluster goes on changing; so
 * after a yes everything is read and planned anew, and what grew is asked about again.
 */
import { NodepoolError } from '../nodepool/errors.ts';
import type { ClusterPlan } from '../reconciler/cluster-plan.ts';
import { noExecuteOf } from '../reconciler/node-plan.ts';

/** What is put to a person before anything is written. */
export interface Proposal {
  /** Or why it cannot be made: then nobody can tell which pods would be evicted. */
  plan: ClusterPlan | NodepoolError;
  /** Asked on a terminal in any case, beside the evictions. */
  question?: Question;
}

export interface Question {
  text: string;
  /** What a yes covers, each thing by a name of its own. */
  covers: readonly string[];
}

/**
 * `clear`: nothing in it needs a yes that was not given. `asked`: a person just said yes. `waived`: nobody is to be asked.
 * Throws NodepoolError when evictions are not agreed to.
 */
export type Answer = 'clear' | 'asked' | 'waived' | 'declined';

/** Asks about what the proposal has beyond what was agreed to before. */
export type Approve = (proposal: Proposal) => Promise<Answer>;

export interface Agreed<P extends Proposal> {
  proposal: P;
  /** Taints with the effect NoExecute that were agreed to, as noExecuteOf() gives them; undefined: all. */
  consent: ReadonlySet<string> | undefined;
}

/**
 * @param propose reads and plans anew at each call
 * @returns undefined when a person said no
 */
export async function agree<P extends Proposal>(
  propose: () => Promise<P>,
  approve: Approve,
): Promise<Agreed<P> | undefined> {
  for (;;) {
    const proposal = await propose();
    const answer = await approve(proposal);
    if (answer === 'declined') return undefined;
    if (answer === 'asked') continue;
    const { plan } = proposal;
    const isBound = answer === 'clear' && !(plan instanceof NodepoolError);
    return { proposal, consent: isBound ? noExecuteOf(plan.nodes) : undefined };
  }
}

/** The plan, or why it cannot be made where the cluster refuses to be read. */
export async function planOrError(plan: () => Promise<ClusterPlan>): Promise<ClusterPlan | NodepoolError> {
  try {
    return await plan();
  } catch (error) {
    if (error instanceof NodepoolError) return error;
    throw error;
  }
}

/** Of what needs no plan: nothing is written to nodes. */
export const NO_CHANGE: ClusterPlan = {
  nodes: [],
  conflicts: [],
  runtimeClasses: [],
  invalid: [],
  circles: [],
  oversized: [],
};
