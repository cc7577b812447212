/** Asks the user about a proposal: the command's own question, and the pods that NoExecute taints would evict. */
import { canAsk, confirm } from '../../../cli/confirm.ts';
import { errorWidth, showWarning, warnOnce } from '../../../cli/errors.ts';
import type { Io } from '../../../cli/io.ts';
import type { PodsPort } from '../../../kube/resources/pods.ts';
import { DeclinedError, NodepoolError } from '../../../nodepool/errors.ts';
import type { DuePlan } from '../../../nodepool/plan/plan.ts';
import { andMore } from '../../../nodepool/text.ts';
import { type ClusterNames, whereText } from '../../../print/question.ts';
import { sanitizeLine, sanitizeScreen } from '../../../print/sanitize.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { noExecuteOf } from '../../../reconciler/plan/node-plan.ts';
import type { TellImpact } from '../impact/show-impact.ts';
import type { EvictionPreview } from '../impact/taint-evictions.ts';
import type { Approve, EarlierWrite, Proposal } from './consent.ts';

export interface Approval {
  /** --yes: show evictions, but do not ask. */
  yes: boolean;
  /** Show evictions, but do not ask, because nothing will be written. */
  dryRun: boolean;
  /** The command shows the impact on the same terminal, evictions included: see showPlanned(). */
  showsImpact?: boolean;
  /** What the command has written before; undefined: nothing yet. */
  written?: () => EarlierWrite | undefined;
}

/** Remembers what was approved, and asks about what a later proposal adds. Throws if the user declines. */
export function approver(
  { yes, dryRun, showsImpact = false, written: ofCommand = () => undefined }: Approval,
  io: Io,
  connection: ClusterNames & { pods: Pick<PodsPort, 'placedOn'> },
  tellImpact: TellImpact = async () => undefined,
): Approve {
  const asks = !yes && !dryRun;
  const where = whereText(connection);
  const agreed = new Set<string>();
  /** Labels and taints that earlier plans already remove. */
  const known = new Set<string>();
  const grew = (covers: readonly string[]) => covers.some(each => !agreed.has(each));
  const agree = (covers: readonly string[]) => {
    for (const each of covers) agreed.add(each);
  };
  const warn = warnOnce(io);
  let isAgain = false;
  const sayWhyAgain = ({ written }: Proposal) => {
    // Nothing was shown yet about the reconcile that follows the command's own write.
    const isFirstQuestion = ofCommand() !== undefined && written === undefined && agreed.size + weighed.size === 0;
    // After a write of this command, it is unknown whether others have also changed something.
    if (isAgain && !isFirstQuestion)
      io.err(written === undefined ? 'The cluster has changed meanwhile:' : 'The remaining changes are different now:');
  };

  /** Show each plan only once. */
  let shown: ClusterPlan | undefined;
  /** Risks whose impact was already computed. */
  const weighed = new Set<string>();
  const impactPlan = ({ plan, asksImpactOf }: Proposal) =>
    asksImpactOf ?? (plan instanceof NodepoolError ? undefined : plan);
  /** Returns texts for the question: the consequences of evictions. */
  const showImpact = async (proposal: Proposal, hasEvictions: boolean): Promise<string[]> => {
    const plan = impactPlan(proposal);
    if (plan === undefined || plan === shown) return [];
    shown = plan;
    const told = await tellImpact(plan, hasEvictions ? 'beside evictions' : 'always');
    writeImpact(told?.text, io);
    for (const risk of await risksIn(plan)) weighed.add(risk);
    return told?.losses ?? [];
  };
  const askAboutImpact = async (proposal: Proposal, signal: AbortSignal | undefined): Promise<boolean> => {
    const { action = CONTINUE, asksImpactOf: plan } = proposal;
    if (plan === undefined || plan === shown || !canAsk(io)) return false;
    const risks = await risksIn(plan);
    if (risks.every(risk => weighed.has(risk))) return false;
    const isLate = weighed.size > 0;
    const told = await tellImpact(plan, 'if worth asking');
    for (const risk of risks) weighed.add(risk);
    if (told === undefined) return false;
    shown = plan;
    if (isLate) sayWhyAgain(proposal);
    writeImpact(told.text, io);
    if (!(await confirm(io, { action, where }, signal))) throw declined(proposal.written ?? ofCommand());
    return true;
  };

  const approve: Approve = async (proposal, signal) => {
    const { plan, question, action = CONTINUE } = proposal;
    const written = proposal.written ?? ofCommand();
    const due = asks && question !== undefined && grew(question.covers) ? question : undefined;
    const refusal = due?.needsYes === undefined || canAsk(io) ? undefined : [...due.needsYes, ...(due.losses ?? [])];
    if (!asks) warn(question?.losses ?? []);
    const preview = await readEvictions(plan, connection.pods).catch((error: unknown) => {
      if (!(error instanceof NodepoolError)) throw error;
      if (asks) throw refusal === undefined ? notKnown(error, written) : needsYes(refusal, written);
      showWarning(io, notKnown(error, undefined).message);
      return undefined;
    });
    const taints = plan instanceof NodepoolError ? [] : [...noExecuteOf(plan.nodes)];
    const isAgreed = proposal.written !== undefined && taints.length > 0 && !grew(taints);
    const covers = [...taints, ...(isAgreed ? [] : (preview?.covers ?? []))];
    const removed = plan instanceof NodepoolError ? [] : removedFrom(plan.nodes);
    // The command itself warns about removals in the first plan.
    const late = isAgain && agreed.size > 0 ? removed.filter(each => !known.has(each)) : [];
    for (const each of removed) known.add(each);
    // A taint that evicts no pod needs an approval only if it is new compared to an earlier approval.
    const isNews = (preview !== undefined || agreed.size > 0) && (grew(covers) || late.length > 0);
    const losses = isNews
      ? await newsOf(taints, preview !== undefined && grew(covers) ? preview : undefined, late)
      : [];
    if (!asks) {
      if (losses.length === 0 || showsImpact) return 'waived';
      sayWhyAgain(proposal);
      await showEvictions(preview, losses, io);
      agree(covers);
      return 'waived';
    }
    if (due === undefined && !isNews) return (await askAboutImpact(proposal, signal)) ? 'asked' : 'clear';
    if (!canAsk(io)) {
      const of = preview === undefined || losses.length === 0 ? undefined : impactPlan(proposal);
      const told = of && (await tellImpact(of, 'beside evictions'));
      const reasons = [...(refusal ?? []), ...losses, ...(told?.losses ?? [])];
      if (reasons.length > 0) throw needsYes(reasons, written);
      return 'clear';
    }
    sayWhyAgain(proposal);
    const ofImpact = await showImpact(proposal, preview !== undefined);
    const all = [...(due?.losses ?? []), ...losses, ...ofImpact];
    if (!(await confirm(io, { action, where, losses: all }, signal))) {
      if (due !== undefined && proposal.written === undefined) return 'declined';
      throw declined(written);
    }
    agree([...(due?.covers ?? []), ...covers]);
    return 'asked';
  };
  /** @param late each begins with a node name, as taints do */
  const newsOf = async (taints: readonly string[], evicted: EvictionPreview | undefined, late: readonly string[]) => {
    const arriving = taints.filter(taint => !agreed.has(taint)).map(taint => taint.replace(' ', GETS));
    const unshown = notShown([...(evicted === undefined ? arriving : []), ...late]);
    const { evictionLosses } = await import('../impact/print-taint-evictions.ts');
    return [...(evicted === undefined ? [] : evictionLosses(evicted)), ...(unshown === undefined ? [] : [unshown])];
  };
  return async (proposal, signal) => {
    const answer = await approve(proposal, signal);
    isAgain = true;
    return answer;
  };
}

const CONTINUE = 'Continue';

/** A table, if nobody is asked. */
async function showEvictions(preview: EvictionPreview | undefined, losses: readonly string[], io: Io): Promise<void> {
  const { renderEvictions } = await import('../impact/print-taint-evictions.ts');
  if (preview !== undefined) io.err(renderEvictions(preview, errorWidth(io)));
  else for (const loss of losses) io.err(`${loss}.`);
}

async function risksIn(plan: ClusterPlan): Promise<string[]> {
  const { risksOf } = await import('../impact/find-impact.ts');
  return risksOf(plan);
}

/** io.err() would escape the colour codes. */
function writeImpact(text: string | undefined, io: Io): void {
  if (text !== undefined) io.stderr.write(`${sanitizeScreen(text)}\n`);
}

async function readEvictions(
  plan: Proposal['plan'],
  pods: Pick<PodsPort, 'placedOn'>,
): Promise<EvictionPreview | undefined> {
  if (plan instanceof NodepoolError) throw plan;
  if (plan.nodes.length === 0) return undefined;
  const { previewEvictions } = await import('../impact/taint-evictions.ts');
  return previewEvictions(plan.nodes, pods);
}

const GETS = ' would get the taint ';

/** Labels and taints that the plans remove because a pool has `unmanaged: Remove`. */
function removedFrom(plans: readonly DuePlan[]): string[] {
  return plans.flatMap(({ node, changes }) =>
    changes
      .filter(({ reason }) => reason === 'unmanaged')
      .map(({ kind, key, effect }) => `${node.name} would lose the ${kind} ${key}${effect ? `:${effect}` : ''}`),
  );
}

/** @param changes each begins with a node name */
function notShown([first, ...others]: readonly string[]): string | undefined {
  if (first === undefined) return undefined;
  return sanitizeLine(`node ${first} (not shown before)${andMore(others.length, ', ')}`);
}

function notKnown(cause: NodepoolError, written: EarlierWrite | undefined): NodepoolError {
  const message = `cannot tell which pods taints with the effect NoExecute would evict: ${cause.oneLine}`;
  const go = `to continue without this check, use ${written === undefined ? '--yes' : `\`${written.command} --yes\``}`;
  const next = [...(cause.next === undefined ? [] : [cause.next]), go].join(', or ');
  const { isGeneral, isTransient, isPermanent } = cause;
  return new NodepoolError(cause.kind, message, next, { cause, isGeneral, isTransient, isPermanent });
}

function needsYes(reasons: readonly string[], written: EarlierWrite | undefined): NodepoolError {
  const again = written === undefined ? 'run the command again with --yes' : `run \`${written.command} --yes\``;
  const message = `${reasons.join('; ')}; ${(written ?? NOTHING).message}`;
  return new NodepoolError('input', message, `to continue, ${again}`);
}

function declined(written: EarlierWrite | undefined): DeclinedError {
  const next = written === undefined ? undefined : `to continue, run \`${written.command}\``;
  return new DeclinedError((written ?? NOTHING).message, next);
}

const NOTHING = { message: 'nothing was changed' };
