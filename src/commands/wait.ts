import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import { errorLine, warningLine } from '../cli/error-line.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg } from '../cli/flags.ts';
import { parsePoolChoice, poolChoiceFlags } from '../cli/pool-choice.ts';
import { EXIT } from '../cli/report-error.ts';
import { sanitizeLine } from '../render/sanitize.ts';
import { parseWaitCondition } from './wait/condition.ts';

/** A negative --timeout, as for kubectl wait. */
const WEEK_MS = 7 * 24 * 3_600_000;

export default class Wait extends BaseCommand<typeof Wait> {
  static override summary = 'Wait until pools are as they should be, or gone.';
  static override description =
    `Looks at the pools' status, as 'reconcile' or the controller writes it; one about an older spec does not count. While neither runs, no status changes.

Exit status: 0 met, 1 not met within the time, or a pool does not exist, 2 usage.`;
  static override examples = [
    { description: 'Until the pool is normal', command: '<%= config.bin %> wait worker --for=status=200' },
    {
      description: 'Until it has three Ready nodes, for five minutes at most',
      command: '<%= config.bin %> wait worker --for=ready=3 --timeout=5m',
    },
    { description: 'Until two pools are gone', command: '<%= config.bin %> wait worker gpu --for=delete' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    for: Flags.string({
      required: true,
      summary: "What to wait for: the pool's status, its number of nodes or of Ready nodes, or its end.",
      helpValue: 'status=N|nodes=N|ready=N|delete',
    }),
    timeout: Flags.string({
      default: '30s',
      summary: 'Longest wait; 0 looks once, a negative one waits for a week.',
      helpValue: 'TIME',
    }),
  };

  protected async execute(
    flags: FlagsOf<typeof Wait>,
    args: ArgsOf<typeof Wait>,
    { io, connect }: Deps,
  ): Promise<number> {
    const pools = parsePoolChoice(args.name, flags);
    const condition = parseWaitCondition(flags.for);
    const { timeout } = flags;
    const isEndless = timeout.startsWith('-');
    const limitMs = parseDuration(isEndless ? timeout.slice(1) : timeout, '--timeout');
    const timeoutMs = isEndless ? WEEK_MS : limitMs;
    const { systemClock } = await import('../controller/clock.ts');
    const { waitForPools } = await import('../operations/wait.ts');
    const { cluster } = await connect();
    const errors = await waitForPools(
      { pools, condition, timeoutMs },
      {
        pools: cluster.pools,
        clock: systemClock,
        random: Math.random,
        log: (level, message) => {
          if (level === 'warning') io.err(warningLine(message));
          if (level === 'error') io.err(errorLine({ message }));
        },
        onMet: name => io.out(`nodepool.nodes.lailin.xyz/${sanitizeLine(name)} condition met`),
      },
    );
    for (const error of errors) io.err(errorLine(error));
    return errors.length === 0 ? EXIT.done : EXIT.error;
  }
}
