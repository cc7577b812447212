/** `cordon` and `uncordon`: prints the result for each node. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, showNote, warnOnce } from '../../../cli/errors.ts';
import type { Deps } from '../../../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, membersFlag } from '../../../cli/flags.ts';
import type { DryRun, NodesClient } from '../../../kube/cluster.ts';
import { type CordonChange, needsOwner, planCordon } from '../../../nodepool/drain/plan-cordon.ts';
import { firstFew, noun, plural } from '../../../nodepool/text.ts';
import type { Node } from '../../../nodepool/types.ts';
import { nodesText } from '../../../print/names.ts';
import { approver } from '../consent/approve.ts';
import type { Question } from '../consent/consent.ts';
import {
  chosenNames,
  MAX_NAMED,
  type PoolChoiceFlags,
  parsePoolChoice,
  poolChoiceFlags,
  showNoPools,
} from '../pools/choose-pools.ts';
import { valueOrRefusal } from '../refusals.ts';
import { cordonNodes, findNodes } from './cordon.ts';
import { showCordonedStatus } from './cordoned-status.ts';
import { type MaintenanceClient, maintenanceClient } from './maintenance.ts';
import { cordonLine, MAX_COMMAND_NODES, printLine, requestedText } from './print-cordon.ts';

/** Flags of both commands. */
export const cordonFlags = {
  ...poolChoiceFlags,
  node: membersFlag,
  'dry-run': dryRunFlag(),
};

export interface CordonFlags extends PoolChoiceFlags {
  /** Only these members; undefined: all. */
  node?: readonly string[] | undefined;
  'dry-run': DryRun;
  /** Only for `uncordon`. */
  yes?: boolean;
}

/** Returns the exit code. */
export async function showCordon(
  { pools: names, ...change }: { pools: readonly string[] | undefined } & CordonChange,
  flags: CordonFlags,
  { io, connect }: Deps,
): Promise<number> {
  const choice = parsePoolChoice(names, flags);
  const { node = [], 'dry-run': dryRun, yes = false } = flags;
  const connection = await connect({ dryRun: dryRun !== 'none' });
  const { cluster, maintenance: open } = connection;
  const pools = await chosenNames(choice, cluster.pools);
  if (pools.length === 0) {
    showNoPools(io);
    return EXIT.done;
  }
  const pause = (ms: number) => sleep(ms);
  const maintenance = maintenanceClient(open, pause);
  const deps = { cluster, maintenance, dryRun, now: io.now, sleep: pause };
  const find = async () => {
    const nodes = await findNodes(change.unschedulable ? 'cordon' : 'uncordon', { pools, nodes: node }, cluster);
    return { nodes, theirs: change.unschedulable ? [] : await foreignCordons(nodes, change, deps) };
  };
  let { nodes, theirs } = await find();
  if (theirs.length > 0) {
    const { agree, NO_CHANGE } = await import('../consent/consent.ts');
    let first: Awaited<ReturnType<typeof find>> | undefined = { nodes, theirs };
    const propose = async () => {
      const found = first ?? (await find());
      first = undefined;
      return {
        plan: NO_CHANGE,
        ...found,
        action: `Uncordon ${nodesText(found.nodes.map(({ name }) => name))} of ${noun(pools.length, 'pool')} ${firstFew(pools, MAX_NAMED)}`,
        ...(found.theirs.length === 0 ? {} : { question: cordonsQuestion(found.theirs) }),
      };
    };
    const agreed = await agree(propose, approver({ yes, dryRun: dryRun !== 'none' }, io, connection));
    if (agreed === undefined) {
      io.err('nothing was changed');
      return EXIT.error;
    }
    ({ nodes, theirs } = agreed.proposal);
  }
  if (nodes.length === 0) io.err(`No nodes found in ${noun(pools.length, 'pool')} ${pools.join(', ')}.`);
  else if (change.maintenance !== undefined)
    showNote(io, requestedText(await maintenance.owner(), change.maintenance, io.now()));
  const warn = warnOnce(io);
  const left: string[] = [];
  let [failed, isChanged] = [false, false];
  const asksFirst = !change.unschedulable && !yes && dryRun === 'none';
  const laterCordon = asksFirst ? laterCordonOf(theirs, change, deps) : undefined;
  for (const result of cordonNodes(nodes, change, { ...deps, laterCordon })) {
    const outcome = await result;
    failed ||= outcome.kind === 'failed';
    isChanged ||= outcome.kind === 'changed';
    if (outcome.kind === 'left') left.push(outcome.node);
    printLine(cordonLine(outcome, change.unschedulable, dryRunSuffix(dryRun)), io);
    if ('warnings' in outcome) warn(outcome.warnings);
  }
  if (isChanged && dryRun === 'none') await showCordonedStatus(pools, cluster, io);
  if (left.length > 0 && dryRun === 'none') {
    const nodes = `${plural(left.length, 'node')} ${left.length === 1 ? 'was' : 'were'} cordoned before the maintenance`;
    const next = `to make ${left.length === 1 ? 'it' : 'them'} schedulable, run \`${uncordonOf(pools, left)}\` (scripts need --yes)`;
    warn([{ message: nodes, next }]);
  }
  return failed ? EXIT.error : EXIT.done;
}

function uncordonOf(pools: readonly string[], nodes: readonly string[]): string {
  const names = nodes.length > MAX_COMMAND_NODES ? 'NODE,…' : nodes.join(',');
  return `kubectl nodepool uncordon ${pools.join(' ')} --node ${names}`;
}

// Nodes that an uncordon would open although this program did not cordon them: others may still need the cordon.

export interface ForeignCordon {
  node: Node;
  /** `kubectl-cordon, 2026-11-24T15:00:00Z`: the field manager, and the time of its last write to the node. */
  by: string;
  /** That time, in RFC 3339. */
  time?: string | undefined;
}

const PATH = ['spec', 'unschedulable'];

interface CordonReaders {
  cluster: { nodes: Pick<NodesClient, 'fieldSetters'> };
  maintenance: Pick<MaintenanceClient, 'owner'>;
  now: () => Date;
}

/** Reads the metadata of each node that would become schedulable. Ignores cordons by this program. */
async function foreignCordons(
  nodes: readonly Node[],
  change: Pick<CordonChange, 'takeover'>,
  { cluster, maintenance, now }: CordonReaders,
): Promise<ForeignCordon[]> {
  const uncordon = { ...change, unschedulable: false };
  const found = await Promise.all(
    nodes.map(async (node): Promise<ForeignCordon[]> => {
      if (!node.unschedulable) return [];
      const owner = needsOwner(node, uncordon) ? await maintenance.owner() : undefined;
      const plan = planCordon(node, uncordon, owner, now());
      if (plan.kind !== 'write' || plan.patch.unschedulable === undefined) return [];
      const read = await valueOrRefusal(() => cluster.nodes.fieldSetters(node.name, [PATH]));
      if ('refusal' in read) return [{ node, by: 'unknown' }];
      const [setter] = read.value ?? [];
      if (setter === undefined) return [];
      const { manager, time } = setter;
      return [{ node, by: [manager || 'unknown', ...(time === undefined ? [] : [time])].join(', '), time }];
    }),
  );
  return found.flat().toSorted((a, b) => (a.node.name < b.node.name ? -1 : 1));
}

/** Finds a cordon that was not covered by the approval of these: see CordonOptions. */
export function laterCordonOf(
  theirs: readonly ForeignCordon[],
  change: Pick<CordonChange, 'takeover'>,
  deps: CordonReaders,
): FindCordon {
  const covered = new Set(theirs.map(coverOf));
  return laterCordon(change, deps, found => !covered.has(coverOf(found)));
}

/** The same for a question that named no cordons. @param askedAt when it was shown, by the server's clock */
export function laterCordonSince(
  askedAt: Date,
  change: Pick<CordonChange, 'takeover'>,
  deps: CordonReaders,
): FindCordon {
  // The server's timestamps have whole seconds.
  const since = Math.floor(askedAt.getTime() / 1000) * 1000;
  return laterCordon(change, deps, ({ time }) => time === undefined || Date.parse(time) >= since);
}

type FindCordon = (node: Node) => Promise<ForeignCordon | undefined>;

function laterCordon(
  change: Pick<CordonChange, 'takeover'>,
  deps: CordonReaders,
  isLater: (found: ForeignCordon) => boolean,
): FindCordon {
  return async node => (await foreignCordons([node], change, deps)).find(isLater);
}

function coverOf({ node, by }: ForeignCordon): string {
  return `cordon of ${node.uid} by ${by}`;
}

/** An approval covers these cordons, and no later ones. */
function cordonsQuestion(found: readonly ForeignCordon[]): Question {
  return { losses: [cordonsText(found)], covers: found.map(coverOf), needsYes: [] };
}

/** `1 node was cordoned by others: a (kubectl-cordon, 2026-11-24T15:00:00Z)` */
function cordonsText(found: readonly ForeignCordon[]): string {
  const names = found.map(({ node, by }) => `${node.name} (${by})`);
  const were = found.length === 1 ? 'was' : 'were';
  return `${plural(found.length, 'node')} ${were} cordoned by others: ${firstFew(names, MAX_NAMED)}`;
}
