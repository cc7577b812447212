/** After an approval everything is read and planned again, and the user is asked about what the new plan adds. */
import { NodepoolError } from '../../../nodepool/errors.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { noExecuteOf } from '../../../reconciler/plan/node-plan.ts';

/** What a user approves before anything is written. */
export interface Proposal {
  /** The plan, or the error that prevented it; the evicted pods are then unknown. */
  plan: ClusterPlan | NodepoolError;
  /** A description with pools and nodes: `Delete pool gpu (releases 2 nodes)`. */
  action?: string;
  /** Asked on a terminal even if no pod is evicted. */
  question?: Question | undefined;
  /** The plan, or a part of it, whose impact the user is asked about if it is relevant. Undefined: never. */
  asksImpactOf?: ClusterPlan | undefined;
  /** Set by earlier rollout steps: taints approved there are not asked about again because of new pods. */
  written?: EarlierWrite | undefined;
}

/** What a command has written before it asks, and how to continue if the user declines. */
export interface EarlierWrite {
  /** Such as `nodepool a was created`. */
  message: string;
  command: string;
}

export interface Question {
  /** The losses, each once: in the question, in the error for a script, or with --yes in a warning. */
  losses?: readonly string[];
  /** What an approval covers, a unique name for each item. */
  covers: readonly string[];
  /** Set if a script, which cannot be asked, needs --yes: the text of its error before the losses. */
  needsYes?: readonly string[] | undefined;
}

/** `clear`: no approval is needed. `waived`: not asked (`--yes`). Throws if evictions are declined. */
export type ConsentAnswer = 'clear' | 'asked' | 'waived' | 'declined';

/** Asks about what this proposal adds to the approved ones. @param signal cancels the question */
export type Approve = (proposal: Proposal, signal?: AbortSignal) => Promise<ConsentAnswer>;

export interface AgreedProposal<P extends Proposal> {
  proposal: P;
  /** Approved NoExecute taints, in the format of noExecuteOf(); undefined: all. */
  consent: ReadonlySet<string> | undefined;
}

/** @param propose reads and plans at each call. Returns undefined if the user declined */
export async function agree<P extends Proposal>(
  propose: () => Promise<P>,
  approve: Approve,
): Promise<AgreedProposal<P> | undefined> {
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

/** The plan, or the error if the cluster cannot be read. */
export async function planOrError(plan: () => Promise<ClusterPlan>): Promise<ClusterPlan | NodepoolError> {
  try {
    return await plan();
  } catch (error) {
    if (error instanceof NodepoolError) return error;
    throw error;
  }
}

/** For commands that do not write nodes. */
export const NO_CHANGE: ClusterPlan = {
  nodes: [],
  later: [],
  rollouts: [],
  conflicts: [],
  runtimeClasses: [],
  invalid: [],
  blocked: [],
};
