import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { parseDuration } from '../../cli/duration.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunFlag, membersFlag, namesArg, yesFlag } from '../../cli/flags.ts';
import type { DrainPace } from '../../nodepool/drain/drain-slots.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { maintenanceFlags, parseMaintenance } from '../shared/cordon/maintenance-flags.ts';
import { parsePoolChoice, poolChoiceFlags } from '../shared/pools/choose-pools.ts';
import type { PlannedPool } from './plan-drain.ts';

const PODS = { helpGroup: 'PODS' };
/** For each node. EKS managed node groups also give up on a node after this time. */
const TIMEOUT = '15m';

export default class Drain extends BaseCommand<typeof Drain> {
  /** Set here because `view` runs the command without oclif, which would set it. */
  static override id = 'drain';
  static override summary = "Drain a pool's nodes for maintenance.";
  static override description =
    `Cordons the nodes, then evicts the pods node by node, as kubectl drain does. First, drain names pods that need a flag, budgets that never allow an eviction, and pods that fit nowhere else. Scripts need --yes for -l, --all and such budgets. To continue, run the command again.

Exit codes: 0 all nodes are drained, 1 some are not, 2 usage, 130 interrupted.`;
  static override examples = [
    {
      description: 'Two nodes of a pool, one after the other',
      command: '<%= config.bin %> drain worker --ignore-daemonsets --node node-1,node-2',
    },
    {
      description: 'A quarter of the nodes at a time; drained nodes stay cordoned',
      command: '<%= config.bin %> drain gpu --ignore-daemonsets --max-unavailable 25%',
    },
    {
      description: 'Show what would happen, and which budgets refuse evictions',
      command: '<%= config.bin %> drain worker --ignore-daemonsets --dry-run=server',
    },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    node: membersFlag,
    parallel: Flags.integer({ min: 1, summary: 'Nodes drained at a time; default 1.', helpValue: 'N' }),
    'max-unavailable': Flags.string({
      exclusive: ['parallel'],
      summary: 'Nodes that may be draining or NotReady at once.',
      helpValue: 'N|%',
    }),
    rolling: Flags.boolean({ summary: 'Cordon each node right before it is drained.' }),
    timeout: Flags.string({
      default: TIMEOUT,
      summary: 'Limit per node; 0 means none.',
      helpValue: 'TIME',
    }),
    'ignore-daemonsets': Flags.boolean({ ...PODS, summary: 'Do not evict the pods of DaemonSets.' }),
    'delete-emptydir-data': Flags.boolean({
      ...PODS,
      summary: 'Evict pods with emptyDir; its data is lost.',
    }),
    force: Flags.boolean({
      ...PODS,
      summary: 'Evict pods that no controller recreates.',
    }),
    'pod-selector': Flags.string({
      ...PODS,
      summary: 'Evict only pods with labels a=b,c!=d,e.',
      helpValue: 'SELECTOR',
    }),
    'grace-period': Flags.integer({
      ...PODS,
      default: -1,
      summary: "Seconds; negative: the pod's.",
      helpValue: 'N',
    }),
    'disable-eviction': Flags.boolean({ ...PODS, summary: 'Delete pods, ignoring PodDisruptionBudgets.' }),
    'skip-wait-for-delete-timeout': Flags.integer({
      ...PODS,
      default: 0,
      min: 0,
      summary: 'Ignore pods terminating for more than N s.',
      helpValue: 'N',
    }),
    ...maintenanceFlags,
    'check-fit': Flags.boolean({
      ...PODS,
      summary: 'Refuse if pods fit on no other node.',
    }),
    'dry-run': dryRunFlag(),
    yes: yesFlag('For scripts, see above.'),
  };

  protected async execute(flags: FlagsOf<typeof Drain>, args: ArgsOf<typeof Drain>, deps: Deps): Promise<number> {
    const { showDrain } = await import('./show-drain.ts');
    const pools = parsePoolChoice(args.name, flags);
    const grace = flags['grace-period'];
    const { parallel, 'max-unavailable': maxUnavailable } = flags;
    return showDrain(
      {
        pools,
        dryRun: flags['dry-run'],
        yes: flags.yes,
        nodes: flags.node ?? [],
        // Nodes that are drained later take the pods of the first ones.
        isRolling: flags.rolling || maxUnavailable !== undefined,
        checkFit: flags['check-fit'],
        pace: members => parsePace(parallel, maxUnavailable, members),
        warnOf: pool => wholePoolWarning(maxUnavailable, pool),
        rules: {
          force: flags.force,
          ignoreDaemonSets: flags['ignore-daemonsets'],
          deleteEmptyDirData: flags['delete-emptydir-data'],
          skipWaitForDeleteSeconds: flags['skip-wait-for-delete-timeout'],
        },
        podSelector: flags['pod-selector'],
        gracePeriodSeconds: grace < 0 ? undefined : grace,
        disableEviction: flags['disable-eviction'],
        cordon: {
          unschedulable: true,
          maintenance: parseMaintenance(flags, deps.io.now()),
          takeover: flags.takeover,
        },
        timeoutMs: parseDuration(flags.timeout, '--timeout'),
      },
      deps,
    );
  }
}

/** Without both flags: one node at a time, as kubectl drain. A percentage is rounded down, but is at least one node. */
export function parsePace(
  parallel: number | undefined,
  maxUnavailable: string | undefined,
  members: number,
): DrainPace {
  if (maxUnavailable === undefined) return { kind: 'parallel', nodes: parallel ?? 1 };
  const [, digits = '', percent] = /^(\d{1,9})(%?)$/.exec(maxUnavailable) ?? [];
  const value = Number(digits);
  if (value === 0 || (percent === '%' && value > 100)) {
    throw new NodepoolError(
      'usage',
      `--max-unavailable: "${maxUnavailable}" is neither a number of nodes nor a percentage`,
      'write it like 2 or 25%',
    );
  }
  const nodes = percent === '%' ? Math.max(1, Math.floor((members * value) / 100)) : value;
  return { kind: 'max unavailable', nodes };
}

/** Warns if a number (not a percentage) allows all members of a pool to be drained at the same time. */
export function wholePoolWarning(maxUnavailable: string | undefined, planned: PlannedPool): string[] {
  const members = planned.nodes.length + planned.otherMembers.length;
  if (members <= 1 || !/^\d+$/.test(maxUnavailable ?? '') || Number(maxUnavailable) < members) return [];
  const meant = Number(maxUnavailable) <= 100 ? `; did you mean ${maxUnavailable}%?` : '';
  return [`--max-unavailable ${maxUnavailable} covers all ${members} nodes of pool ${planned.pool}${meant}`];
}
