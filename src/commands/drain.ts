import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import type { Deps } from '../cli/factory.ts';
import { dryRunFlag, membersFlag, namesArg, yesFlag } from '../cli/flags.ts';
import { parsePoolChoice, poolChoiceFlags } from '../cli/pool-choice.ts';
import { parsePace, wholePoolWarning } from './drain/pace.ts';

const PODS = { helpGroup: 'PODS' };
/** For each node, as EKS: managed node groups give up on a node after this time. */
const TIMEOUT = '15m';

export default class Drain extends BaseCommand<typeof Drain> {
  static override summary = "Drain a pool's nodes for maintenance.";
  static override description =
    `Cordons all nodes, so that evicted pods do not move to a node that is drained next, then evicts the pods of one node after the other, as kubectl drain. Evictions that a PodDisruptionBudget refuses are tried again every 5 s. Before that, it names pods that need a flag, budgets that never allow an eviction, and pods that no other schedulable node accepts; free resources are not checked. Without a terminal, -l, --all and such budgets need --yes.

Run it again to continue after Ctrl-C or a failure. Exit status: 0 drained, 1 some node is not, 2 usage, 130 interrupted.`;
  static override examples = [
    {
      description: 'Two nodes of the pool, one after the other',
      command: '<%= config.bin %> drain worker --ignore-daemonsets --node node-1,node-2',
    },
    {
      description: 'While a quarter of the nodes at most is unavailable; the others stay schedulable',
      command: '<%= config.bin %> drain worker --ignore-daemonsets --max-unavailable 25% --rolling',
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
      summary: 'Maximum number of members being drained or not Ready.',
      helpValue: 'N|%',
    }),
    rolling: Flags.boolean({ summary: 'Cordon each node right before it is drained.' }),
    timeout: Flags.string({
      default: TIMEOUT,
      summary: 'For each node; 0 means none.',
      helpValue: 'TIME',
    }),
    'ignore-daemonsets': Flags.boolean({ ...PODS, summary: 'Do not evict the pods of DaemonSets.' }),
    'delete-emptydir-data': Flags.boolean({
      ...PODS,
      summary: 'Also evict pods with emptyDir volumes; their data is lost.',
    }),
    force: Flags.boolean({
      ...PODS,
      summary: 'Also evict pods that no controller will recreate.',
    }),
    'pod-selector': Flags.string({
      ...PODS,
      summary: 'Only evict pods with these labels: a=b,c!=d,e.',
      helpValue: 'SELECTOR',
    }),
    'grace-period': Flags.integer({
      ...PODS,
      default: -1,
      summary: 'Seconds for a pod to terminate; negative: its own.',
      helpValue: 'N',
    }),
    'disable-eviction': Flags.boolean({ ...PODS, summary: 'Delete the pods, ignoring PodDisruptionBudgets.' }),
    'skip-wait-for-delete-timeout': Flags.integer({
      ...PODS,
      default: 0,
      min: 0,
      summary: 'Do not wait for pods that have been terminating for more than N seconds.',
      helpValue: 'N',
    }),
    'dry-run': dryRunFlag(),
    yes: yesFlag,
  };

  protected async execute(flags: FlagsOf<typeof Drain>, args: ArgsOf<typeof Drain>, deps: Deps): Promise<number> {
    const { showDrain } = await import('./drain/show-drain.ts');
    const pools = parsePoolChoice(args.name, flags);
    const grace = flags['grace-period'];
    const { parallel, 'max-unavailable': maxUnavailable } = flags;
    return showDrain(
      {
        pools,
        dryRun: flags['dry-run'],
        yes: flags.yes,
        nodes: flags.node ?? [],
        isRolling: flags.rolling,
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
        timeoutMs: parseDuration(flags.timeout, '--timeout'),
      },
      deps,
    );
  }
}
