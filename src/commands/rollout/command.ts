import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT, showError, showNote, warnOnce } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, namesArg, objectOutputFlag, yesFlag } from '../../cli/flags.ts';
import { withoutType } from '../../cli/unknown/unknown-flag.ts';
import { DeclinedError, NodepoolError } from '../../nodepool/errors.ts';
import { poolRef } from '../../print/sanitize.ts';
import { hintReconcile } from '../shared/edit/next-step.ts';
import {
  chosenNames,
  type PoolChoice,
  parsePoolChoice,
  poolSelectorFlag,
  showNoPools,
} from '../shared/pools/choose-pools.ts';
import type { UndoFlags } from './undo.ts';

const ACTIONS = ['status', 'pause', 'resume', 'history', 'undo'] as const;

export default class Rollout extends BaseCommand<typeof Rollout> {
  static override summary = 'Follow, pause, resume or undo how a spec reaches the nodes.';
  static override description =
    `status follows until every node has the spec of the pool, and exits 1 if the rollout stopped. pause stops all writes to the nodes of the pool. resume continues, and accepts a node that turned NotReady and so stopped the rollout. history shows the saved specs; undo rolls back to one of these specs.

Exit codes: 0 done; 1 stopped, not done before the timeout, or an error; 2 usage.`;
  static override examples = [
    { description: 'Follow until all nodes have the spec', command: '<%= config.bin %> rollout status worker' },
    {
      description: 'In a script: at most ten minutes',
      command: '<%= config.bin %> rollout status worker --timeout=10m && echo done',
    },
    { description: 'Write nothing to the nodes of a pool', command: '<%= config.bin %> rollout pause worker' },
    { description: 'Continue', command: '<%= config.bin %> rollout resume worker' },
    { description: 'Go back to the previous spec', command: '<%= config.bin %> rollout undo worker' },
  ];
  static override args = {
    action: Args.string({
      description: 'What to do.',
      options: [...ACTIONS],
      required: true,
      ignoreStdin: true,
    }),
    name: namesArg('Names of the pools.'),
  };
  static override flags = {
    ...poolSelectorFlag,
    watch: Flags.boolean({
      char: 'w',
      allowNo: true,
      default: true,
      summary: 'status: follow until done; --watch=false prints the state once.',
    }),
    timeout: Flags.string({
      default: '0s',
      summary: 'status: maximum time to follow; 0 means none.',
      helpValue: 'TIME',
    }),
    revision: Flags.integer({
      min: 0,
      summary: 'history: show this revision. status: fail if another revision is rolled out.',
      helpValue: 'N',
    }),
    'to-revision': Flags.integer({
      min: 0,
      summary: 'undo: the revision to roll back to; 0, the default, is the previous revision.',
      helpValue: 'N',
    }),
    'dry-run': dryRunFlag(),
    output: objectOutputFlag('Print the pool, or the revisions of history, instead of messages.'),
    yes: yesFlag('Scripts may need --yes for undo and resume.'),
  };

  protected async execute(flags: FlagsOf<typeof Rollout>, args: ArgsOf<typeof Rollout>, deps: Deps): Promise<number> {
    assertApplicable(args, flags);
    const choice = parsePoolChoice(args.name, flags, NOBODY);
    if (choice === NOBODY) throw new NodepoolError('usage', 'no pool is specified', 'name a pool, or use -l SELECTOR');
    const connection = await deps.connect({ dryRun: flags['dry-run'] !== 'none' });
    const names = await chosenNames(choice, connection.cluster.pools);
    if (names.length === 0) showNoPools(deps.io);
    // `nodepool web`, a type and a name as in kubectl: the user may not mean the pool of that name.
    const isTyped = withoutType('rollout', names) !== undefined;
    let exit: number = EXIT.done;
    for (const name of names) {
      try {
        exit = Math.max(exit, await act(name, args.action, flags, deps, connection));
      } catch (error) {
        if (names.length === 1 || isTyped || !(error instanceof NodepoolError) || error.kind === 'interrupted')
          throw error;
        // Continues with the other pools, as kubectl does.
        if (error instanceof DeclinedError) showNote(deps.io, `pool ${name}: ${error.oneLine}`);
        else showError(deps.io, error);
        exit = EXIT.error;
      }
    }
    return exit;
  }
}

const NOBODY: PoolChoice = { names: [] };

async function act(
  name: string,
  action: string,
  flags: FlagsOf<typeof Rollout>,
  deps: Deps,
  connection: Connection,
): Promise<number> {
  const { 'dry-run': dryRun, 'to-revision': toRevision = 0, revision = 0, yes, output } = flags;
  switch (action) {
    case 'status':
      return (await import('./status.ts')).rolloutStatus(name, { ...flags, revision }, deps, connection);
    case 'history':
      return (await import('./history.ts')).history(name, { revision, output }, deps, connection);
    case 'undo':
      return (await import('./undo.ts')).undo(name, { toRevision, dryRun, yes, output }, deps, connection);
    default:
      return setPaused(name, { paused: action === 'pause', dryRun, yes, output }, deps, connection);
  }
}

async function setPaused(
  name: string,
  { paused, dryRun, yes, output }: { paused: boolean } & Pick<UndoFlags, 'dryRun' | 'yes' | 'output'>,
  { io }: Deps,
  connection: Connection,
): Promise<number> {
  const { setPaused } = await import('./pause.ts');
  const { approver } = await import('../shared/consent/approve.ts');
  const { cluster, workloads } = connection;
  const approve = approver({ yes, dryRun: dryRun !== 'none' }, io, connection);
  const options = {
    cluster,
    workloads,
    dryRun,
    approve,
    warn: warnOnce(io),
    reconciles: false,
    now: () => io.serverNow(),
  };
  const pool = await setPaused(name, paused, options);
  if (output !== undefined) {
    const { printObjects } = await import('../../print/printers.ts');
    io.out(printObjects([pool], output, false));
    return EXIT.done;
  }
  io.out(`${poolRef(name)} ${paused ? 'paused' : 'resumed'}${dryRunSuffix(dryRun)}`);
  if (!paused && dryRun === 'none') hintReconcile([name], io);
  return EXIT.done;
}

/** Refuses flags of another action, which would be ignored silently. */
function assertApplicable({ action, name }: ArgsOf<typeof Rollout>, flags: FlagsOf<typeof Rollout>): void {
  const only = [
    ['revision', ['history', 'status'], flags.revision !== undefined],
    ['to-revision', ['undo'], flags['to-revision'] !== undefined],
  ] as const;
  for (const [flag, of, isSet] of only) {
    if (isSet && !of.some(each => each === action)) {
      const who = of.map(each => `\`rollout ${each}\``).join(' and ');
      throw new NodepoolError('usage', `--${flag}: only ${who} ${of.length === 1 ? 'has' : 'have'} it`, 'leave it out');
    }
  }
  const isRead = action === 'status' || action === 'history';
  if (isRead && flags['dry-run'] !== 'none')
    throw new NodepoolError('usage', `--dry-run: ${action} writes nothing`, 'leave it out');
  if (action === 'status' && flags.output !== undefined) {
    throw new NodepoolError(
      'usage',
      '-o: status prints only lines',
      `in a program, use \`kubectl nodepool get ${name?.[0] ?? 'NAME'} -o json\``,
    );
  }
}
