/** What a verb needs from outside, made only when it is asked for: `--help` never loads the Kubernetes client. */
import { defined } from '../nodepool/json.ts';
import type { NamesPort } from '../operations/names-port.ts';
import type { Connection } from '../operations/ports.ts';
import { sanitizeLine } from '../render/sanitize.ts';
import { parseDuration } from './duration.ts';
import { warningLine } from './error-line.ts';
import type { Io } from './io.ts';
import { type Progress, progress, type Spinner } from './progress.ts';

export type { Connection };

export interface ConnectOptions {
  /** Requests in flight at most. */
  concurrency?: number;
  /** Told of every answer by its code, and of every request that got none. */
  onRequest?: (code: string, method: string, host: string) => void;
  /** Longest wait for a login but the first, in milliseconds. */
  loginLimitMs?: number;
  /** Whether a screen has the terminal: a login plugin then neither asks nor writes there. */
  isTerminalTaken?: () => boolean;
  /** Gets warnings, and the lines of `-v` about requests, in place of stderr. */
  log?: (level: 'warning' | 'debug', text: string) => void;
  /** Asked right before each write but those of leases; when false, it fails. */
  mayWrite?: () => boolean;
}

/** What a verb's execute() gets. */
export interface Deps {
  io: Io;
  /** This program's version. */
  version: string;
  /** The package's directory. */
  root: string;
  /** What --request-timeout says; 0 waits for ever. */
  requestTimeoutMs: number | undefined;
  /** A spinner on stderr; silent without a terminal, and with -v, whose lines it would tear. */
  progress(text: string): Promise<Progress>;
  /** The one connection of this process: called once, so that no other options are passed over. Throws NodepoolError. */
  connect(options?: ConnectOptions): Promise<Connection>;
}

export interface GlobalFlags {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  cluster?: string | undefined;
  user?: string | undefined;
  as?: string | undefined;
  'as-uid'?: string | undefined;
  'as-group'?: string[] | undefined;
  'as-user-extra'?: string[] | undefined;
  'request-timeout'?: string | undefined;
  verbosity: number;
}

/** The dependencies of one run; close() ends what was opened. */
export function createFactory(
  { io, version, root }: Pick<Deps, 'io' | 'version' | 'root'>,
  flags: GlobalFlags,
): { deps: Deps; close(): Promise<void> } {
  let connection: Promise<Connection> | undefined;
  /** Hidden while a login plugin asks on the same terminal: they would wipe its questions away. */
  const spinners = new Set<Spinner>();
  let loginTalks = false;
  const timeout = flags['request-timeout'];
  const requestTimeoutMs = timeout === undefined ? undefined : parseDuration(timeout, '--request-timeout');

  async function open(options: ConnectOptions): Promise<Connection> {
    const { connect } = await import('../kube/connect.ts');
    const { isTerminalTaken = () => false } = options;
    return connect({
      ...defined({
        kubeconfig: flags.kubeconfig,
        context: flags.context,
        cluster: flags.cluster,
        user: flags.user,
        as: flags.as,
        asUid: flags['as-uid'],
        asGroup: flags['as-group'],
        asUserExtra: flags['as-user-extra'],
        requestTimeoutMs,
      }),
      ...options,
      log: (level: number, text: () => string) => {
        if (level > flags.verbosity) return;
        const isWarning = level === 0;
        if (options.log !== undefined) options.log(isWarning ? 'warning' : 'debug', text());
        else io.err(isWarning ? warningLine(text()) : sanitizeLine(text()));
      },
      env: io.env,
      terminal: {
        stdin: 0,
        get stderr() {
          return io.stderrIsTTY && isTerminalTaken() ? 'ignore' : 2;
        },
        get stdinIsTTY() {
          return io.stdinIsTTY && !isTerminalTaken();
        },
        stdinIsSpent: () => io.stdin.readableEnded,
        onUse: used => {
          loginTalks = used;
          for (const spinner of spinners) spinner.hide(used);
        },
      },
      version,
    });
  }

  return {
    deps: {
      io,
      version,
      root,
      requestTimeoutMs,
      async progress(text) {
        const spinner = await progress(flags.verbosity > 0 ? { ...io, stderrIsTTY: false } : io, text);
        spinners.add(spinner);
        if (loginTalks) spinner.hide(true);
        return spinner;
      },
      async connect(options = {}) {
        if (connection !== undefined)
          throw new Error('connect() is called twice: a command connects once, with its options');
        connection = open(options);
        return connection;
      },
    },
    async close() {
      const opened = await connection?.catch(() => undefined);
      opened?.close();
    },
  };
}

/** What completion asks, by the flags that choose cluster and user: none of a connection's other ports is loaded. */
export async function openNames(
  flags: Pick<GlobalFlags, 'kubeconfig' | 'context' | 'cluster' | 'user' | 'as'>,
  { io, version }: Pick<Deps, 'version'> & { io: Pick<Io, 'env'> },
): Promise<NamesPort> {
  const { namesPort } = await import('../kube/resources/names.ts');
  return namesPort({ ...defined({ ...flags }), env: io.env, version });
}
