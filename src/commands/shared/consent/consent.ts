/** After a yes everything is read and planned again, and what the new plan adds is asked about again. */
import { NodepoolError } from '../../../nodepool/errors.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { noExecuteOf } from '../../../reconciler/plan/node-plan.ts';

/** What a person agrees to before anything is written. */
export interface Proposal {
  /** The plan, or the error where it cannot be made: then the evicted pods are not known. */
  plan: ClusterPlan | NodepoolError;
  /** In words, with the pools and nodes: `Delete pool gpu (releases 2 nodes)`. */
  action?: string;
  /** Asked on a terminal also where no pod is evicted. */
  question?: Question | undefined;
  /** A person is asked about its impact, if that is worth a question; the plan may be a part of it. Undefined: never. */
  asksImpactOf?: ClusterPlan | undefined;
  /** By earlier steps of a rollout: who agreed to these taints is not asked again about pods that come up there. */
  written?: EarlierWrite | undefined;
}

/** What a command has written before it asks, and how to continue after a no. */
export interface EarlierWrite {
  /** As `nodepool a was created`. */
  message: string;
  command: string;
}

export interface Question {
  /** What is lost, each once: in the question, in the error of a script, or with --yes in a warning. */
  losses?: readonly string[];
  /** What a yes covers, each thing by a name of its own. */
  covers: readonly string[];
  /** A script, which cannot be asked, needs --yes: what its error says before the losses. */
  needsYes?: readonly string[] | undefined;
}

/** `clear`: it needs no further yes. `waived`: no question is asked (`--yes`). Throws where evictions are declined. */
export type ConsentAnswer = 'clear' | 'asked' | 'waived' | 'declined';

/** Asks about what this proposal adds to those agreed to before. @param signal withdraws the question */
export type Approve = (proposal: Proposal, signal?: AbortSignal) => Promise<ConsentAnswer>;

export interface AgreedProposal<P extends Proposal> {
  proposal: P;
  /** Taints with the effect NoExecute that were agreed to, as noExecuteOf() gives them; undefined: all. */
  consent: ReadonlySet<string> | undefined;
}

/** @param propose reads and plans at each call. Undefined when a person said no */
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

/** The plan, or why it cannot be made where the cluster refuses to be read. */
export async function planOrError(plan: () => Promise<ClusterPlan>): Promise<ClusterPlan | NodepoolError> {
  try {
    return await plan();
  } catch (error) {
    if (error instanceof NodepoolError) return error;
    throw error;
  }
}

/** For a command that writes no nodes. */
export const NO_CHANGE: ClusterPlan = {
  nodes: [],
  later: [],
  rollouts: [],
  conflicts: [],
  runtimeClasses: [],
  invalid: [],
  circles: [],
  oversized: [],
};
