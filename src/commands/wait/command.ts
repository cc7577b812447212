import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { parseDuration } from '../../cli/duration.ts';
import { EXIT, showError, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { nameOutputFlag, namesArg } from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { poolRef } from '../../print/sanitize.ts';
import { parsePoolChoice, poolChoiceFlags } from '../shared/pools/choose-pools.ts';
import type { WaitCondition } from './run.ts';

/** The meaning of a negative --timeout, as in kubectl wait. */
const WEEK_MS = 7 * 24 * 3_600_000;

export default class Wait extends BaseCommand<typeof Wait> {
  static override summary = 'Wait for a condition on pools.';
  static override description =
    `Waits until every pool meets the condition, or until the timeout. status=N, nodes=N, ready=N (Ready nodes) and condition=TYPE[=VALUE] read the pool's status, which 'reconcile' and the controller write. A status of an older generation of the spec does not count. jsonpath=PATH[=VALUE] reads any field. create and delete wait until the pool exists or is gone. condition, jsonpath, create and delete follow the rules of 'kubectl wait'. With several conditions, each pool has to meet them in order.

Exit codes: 0 met; 1 timeout, or a pool does not exist; 2 usage.`;
  static override examples = [
    {
      description: 'Wait until the status of the pool is 200',
      command: '<%= config.bin %> wait worker --for=status=200',
    },
    {
      description: 'Wait until the pool has three Ready nodes, for at most five minutes',
      command: '<%= config.bin %> wait worker --for=ready=3 --timeout=5m',
    },
    { description: 'Wait until all pools are Ready', command: '<%= config.bin %> wait --all --for=condition=Ready' },
    {
      description: 'Wait until a field has a value',
      command: `<%= config.bin %> wait worker --for=jsonpath='{.status.unschedulableNodeCount}'=0`,
    },
    {
      description: 'Wait until a pool is created, then until its status is 200',
      command: '<%= config.bin %> wait worker --for=create --for=status=200',
    },
    { description: 'Wait until two pools are deleted', command: '<%= config.bin %> wait worker gpu --for=delete' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    for: Flags.string({
      required: true,
      multiple: true,
      multipleNonGreedy: true,
      summary:
        'Condition; repeatable, met in order: status=N, nodes=N, ready=N, condition=TYPE[=VALUE], jsonpath=PATH[=VALUE], create or delete.',
      helpValue: 'CONDITION',
    }),
    output: nameOutputFlag,
    timeout: Flags.string({
      default: '30s',
      summary: 'Timeout for all pools; 0 checks once, a negative value waits for a week.',
      helpValue: 'TIME',
    }),
  };

  protected async execute(
    flags: FlagsOf<typeof Wait>,
    args: ArgsOf<typeof Wait>,
    { io, connect }: Deps,
  ): Promise<number> {
    const pools = parsePoolChoice(args.name, flags);
    const conditions = await Promise.all(flags.for.map(parseWaitCondition));
    if (conditions.some(({ kind }) => kind === 'create') && !('names' in pools)) {
      throw new NodepoolError('usage', '--for=create waits for pools by name', 'name the pools instead of -l or --all');
    }
    const { timeout } = flags;
    const isEndless = timeout.startsWith('-');
    const limitMs = parseDuration(isEndless ? timeout.slice(1) : timeout, '--timeout');
    const timeoutMs = isEndless ? WEEK_MS : limitMs;
    const { systemClock } = await import('../../controller/clock.ts');
    const { isWritten, waitForEach } = await import('./run.ts');
    const connection = await connect();
    const { cluster } = connection;
    const over = new AbortController();
    const kept = conditions.find(isWritten);
    let look: Promise<void> | undefined;
    const errors = await waitForEach(
      { pools, conditions, timeoutMs },
      {
        pools: cluster.pools,
        nodes: cluster.nodes,
        clock: systemClock,
        random: Math.random,
        log: (level, message) => {
          if (level === 'warning') showWarning(io, message);
          if (level === 'error') showError(io, { message });
        },
        onFound(names) {
          if (kept !== undefined) look ??= warnIfUnkept(kept, names, { io, connection, signal: over.signal });
        },
        onMet(name, isLast) {
          if (flags.output === undefined) io.out(`${poolRef(name)} condition met`);
          else if (isLast) io.out(poolRef(name));
        },
      },
    );
    over.abort();
    await look;
    for (const error of errors) showError(io, error);
    return errors.length === 0 ? EXIT.done : EXIT.error;
  }
}

/** Warns once if no controller runs, or if that is unknown: the status may then be from the last reconcile. */
async function warnIfUnkept(
  condition: WaitCondition,
  pools: readonly string[],
  { io, connection, signal }: { io: Deps['io']; connection: Connection; signal: AbortSignal },
): Promise<void> {
  const { controllerRuns } = await import('../shared/leases.ts');
  const runs = await controllerRuns(connection, signal);
  if (runs === true || runs === undefined) return;
  const what = condition.kind === 'condition' ? `condition ${condition.type}` : 'the status';
  if (runs !== false) {
    const { oneLine, next } = runs;
    showWarning(io, {
      message: `${what} may be from the last reconcile: cannot check for a controller: ${oneLine}`,
      next,
    });
    return;
  }
  const which = pools.length > 3 ? '' : ` ${pools.join(' ')}`;
  showWarning(io, {
    message: `${what} is from the last reconcile: nothing updates it, unless \`reconcile --watch\` runs elsewhere`,
    next: `run \`kubectl nodepool reconcile${which}\``,
  });
}

// Parses the value of `wait --for`.

/** Parses the conditions of kubectl wait, and `status=N`, `nodes=N`, `ready=N`. Throws a usage error. */
export async function parseWaitCondition(text: string): Promise<WaitCondition> {
  const lower = text.toLowerCase();
  if (lower === 'create' || lower === 'delete') return { kind: lower };
  const [, kind, number] = /^(status|nodes|ready)=(\d{1,9})$/.exec(text) ?? [];
  if (kind === 'status' || kind === 'nodes' || kind === 'ready') return { kind, value: Number(number) };
  const [, type, value = 'True'] = /^condition=([^=]+)(?:=(.+))?$/s.exec(text) ?? [];
  if (type !== undefined) return { kind: 'condition', type, value };
  const [, expression] = /^jsonpath=(.*)$/s.exec(text) ?? [];
  if (expression !== undefined) {
    const { jsonPathCondition } = await import('./jsonpath.ts');
    return { kind: 'object', ...jsonPathCondition(expression) };
  }
  throw new NodepoolError(
    'usage',
    `--for: unrecognized condition: ${JSON.stringify(text)}`,
    meantReady(text)
      ? 'use --for=condition=Ready, or --for=status=200'
      : 'use a condition like status=200, nodes=3, ready=3, condition=Ready, jsonpath={.status.nodeCount}=3, create or delete',
  );
}

/** `ready`, `Ready`, `status=Normal`, `status=Ready`. */
function meantReady(text: string): boolean {
  return /^(?:(?:status|condition)[=:])?(?:ready|normal)$/i.test(text);
}
