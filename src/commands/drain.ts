import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import type { Deps } from '../cli/factory.ts';
import { dryRunFlag, namesArg, yesFlag } from '../cli/flags.ts';
import { parsePoolChoice, poolChoiceFlags } from '../cli/pool-choice.ts';
import { parsePace } from './drain/pace.ts';

const PODS = { helpGroup: 'PODS' };

export default class Drain extends BaseCommand<typeof Drain> {
  static override summary = "Empty a pool's nodes for maintenance.";
  static override description =
    `All nodes of the pools are cordoned first, so that no pod moves to a node that is next. Then pool after pool is drained, its nodes as kubectl drain does it: pods are evicted, PodDisruptionBudgets are respected, and what they hold back is tried again every 5 s. What needs a flag is told before anything is changed. After Ctrl-C, run it again: it goes on where it ended. 'uncordon' opens the nodes again.

Exit status: 0 drained, 1 some node is not, 2 usage, 130 interrupted.`;
  static override examples = [
    { description: 'One node at a time', command: '<%= config.bin %> drain worker --ignore-daemonsets' },
    {
      description: 'While a quarter of the nodes at most is unavailable',
      command: '<%= config.bin %> drain worker --ignore-daemonsets --max-unavailable 25%',
    },
    {
      description: 'See what would happen, and which budgets stand in the way',
      command: '<%= config.bin %> drain worker --ignore-daemonsets --dry-run=server',
    },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    parallel: Flags.integer({ min: 1, summary: 'Nodes drained at a time; one unless told.', helpValue: 'N' }),
    'max-unavailable': Flags.string({
      exclusive: ['parallel'],
      summary: 'Members unavailable at a time: those being drained, and those that are not Ready.',
      helpValue: 'N|%',
    }),
    timeout: Flags.string({ default: '0', summary: 'Longest time for one node; 0 waits for ever.', helpValue: 'TIME' }),
    'ignore-daemonsets': Flags.boolean({ ...PODS, summary: 'Leave the pods of DaemonSets where they are.' }),
    'delete-emptydir-data': Flags.boolean({
      ...PODS,
      summary: 'Also evict pods with emptyDir volumes: their data is lost.',
    }),
    force: Flags.boolean({ ...PODS, summary: 'Also evict pods without a controller: nothing brings them back.' }),
    'pod-selector': Flags.string({
      ...PODS,
      summary: 'Only pods with these labels: a=b,c!=d,e.',
      helpValue: 'SELECTOR',
    }),
    'grace-period': Flags.integer({
      ...PODS,
      default: -1,
      summary: "Seconds that a pod has to end; negative: the pod's own.",
      helpValue: 'N',
    }),
    'disable-eviction': Flags.boolean({ ...PODS, summary: 'Delete the pods, whatever PodDisruptionBudgets say.' }),
    'skip-wait-for-delete-timeout': Flags.integer({
      ...PODS,
      default: 0,
      min: 0,
      summary: 'Do not wait for pods whose deletion began more than N seconds ago; 0 waits.',
      helpValue: 'N',
    }),
    'dry-run': dryRunFlag('Change nothing: "client" only reads, "server" has the server validate it.'),
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
        pace: members => parsePace(parallel, maxUnavailable, members),
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
