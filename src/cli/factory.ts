/** The dependencies of a command, created when it asks for them: `--help` never loads the Kubernetes client. */
import type { Connection } from '../kube/connect.ts';
import type { CommandLookup } from '../kube/look-path.ts';
import type { NamesPort } from '../kube/resources/names.ts';
import type { WebAnswer, WebRequest } from '../kube/web.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { defined } from '../nodepool/json.ts';
import { sanitizeLine } from '../print/sanitize.ts';
import { parseDuration } from './duration.ts';
import { showWarning } from './errors.ts';
import type { Io } from './io.ts';
import { type Progress, progress, type Spinner } from './progress.ts';

export type { Connection };

export interface ConnectOptions {
  /** Limits the requests in flight. */
  concurrency?: number;
  /** Called with the code of every answer, and for every request that got none. */
  onRequest?: (code: string, method: string, host: string) => void;
  /** Longest wait for a login after the first one, in milliseconds. */
  loginLimitMs?: number;
  /** Whether the dashboard has the terminal: a login plugin must neither ask nor write there then. */
  isTerminalTaken?: () => boolean;
  /** Gets warnings and the lines of `-v` instead of stderr. */
  log?: (level: 'warning' | 'debug', text: string) => void;
  /** Called right before each write except those of leases; false fails the write. */
  mayWrite?: () => boolean;
  /** The server validates each write and stores none. */
  dryRun?: boolean;
  /** Annotations of nodes that are read beside those of pools. */
  annotations?: readonly string[];
  /** Called when the first request is on its way: to load what its answer is printed with. */
  meanwhile?: () => void;
}

/** Passed to a command's execute(). */
export interface Deps {
  io: Io;
  /** This program's version. */
  version: string;
  /** The package's directory. */
  root: string;
  /** The value of --request-timeout; 0 waits for ever. */
  requestTimeoutMs: number | undefined;
  /** A spinner on stderr; silent without a terminal, and with -v, whose lines it would break. */
  progress(text: string): Promise<Progress>;
  /** The one connection of this process. A second call is a bug: its options would be ignored. Throws NodepoolError. */
  connect(options?: ConnectOptions): Promise<Connection>;
}

export interface GlobalFlags {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  cluster?: string | undefined;
  user?: string | undefined;
  server?: string | undefined;
  token?: string | undefined;
  'certificate-authority'?: string | undefined;
  'client-certificate'?: string | undefined;
  'client-key'?: string | undefined;
  'insecure-skip-tls-verify'?: boolean | undefined;
  'tls-server-name'?: string | undefined;
  'disable-compression'?: boolean | undefined;
  as?: string | undefined;
  'as-uid'?: string | undefined;
  'as-group'?: string[] | undefined;
  'as-user-extra'?: string[] | undefined;
  'request-timeout'?: string | undefined;
  'transient-keys'?: string | undefined;
  verbosity: number;
}

/**
 * The dependencies of one run; close() closes the connection. opened(): where the command connected.
 * @param open a connection to use instead of one by the flags; it is not closed
 */
export function createFactory(
  { io, version, root }: Pick<Deps, 'io' | 'version' | 'root'>,
  flags: GlobalFlags,
  open?: Connection,
): { deps: Deps; opened(): Promise<Connection | undefined>; close(): Promise<void> } {
  let connection: Promise<Connection> | undefined;
  /** Hidden while a login plugin asks on the same terminal: they would overwrite its questions. */
  const spinners = new Set<Spinner>();
  let isLoginAsking = false;
  const timeout = flags['request-timeout'];
  const requestTimeoutMs = timeout === undefined ? undefined : parseDuration(timeout, '--request-timeout');

  async function openNew(options: ConnectOptions): Promise<Connection> {
    const { connect } = await import('../kube/connect.ts');
    const transientKeys = await transientKeysFrom(flags['transient-keys']);
    const { isTerminalTaken = () => false } = options;
    const opened = await connect({
      ...accessOf(flags),
      ...defined({ requestTimeoutMs, transientKeys }),
      ...options,
      log: (level: number, text: () => string) => {
        if (level > flags.verbosity) return;
        const isWarning = level === 0;
        if (options.log !== undefined) options.log(isWarning ? 'warning' : 'debug', text());
        else if (isWarning) showWarning(io, text());
        else io.err(sanitizeLine(text()));
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
          isLoginAsking = used;
          for (const spinner of spinners) spinner.hide(used);
        },
      },
      version,
    });
    io.serverNow = opened.cluster.nodes.serverTime;
    return opened;
  }

  const opened = async () => connection?.catch(() => undefined);

  return {
    deps: {
      io,
      version,
      root,
      requestTimeoutMs,
      async progress(text) {
        const spinner = await progress(flags.verbosity > 0 ? { ...io, stderrIsTTY: false } : io, text);
        spinners.add(spinner);
        if (isLoginAsking) spinner.hide(true);
        return spinner;
      },
      async connect(options = {}) {
        if (connection !== undefined)
          throw new Error('connect() is called twice: a command connects once, with its options');
        connection = open === undefined ? openNew(options) : onOpen(open, options);
        return connection;
      },
    },
    opened,
    async close() {
      if (open === undefined) (await opened())?.close();
    },
  };
}

/** The open connection for a command with these options. Throws NodepoolError before anything is sent where it cannot have one. */
async function onOpen(open: Connection, options: ConnectOptions): Promise<Connection> {
  // runOn() refuses --concurrency.
  const { concurrency: _default, dryRun = false, meanwhile, ...others } = options;
  if (Object.keys(defined(others)).length > 0)
    throw new NodepoolError(
      'usage',
      'this command cannot use a connection that is already open',
      'run the command in a shell',
    );
  meanwhile?.();
  return dryRun ? open.dryRun() : open;
}

/** The flags that choose cluster and user, as connect() and namesPort() take them. */
function accessOf(flags: Partial<GlobalFlags>) {
  return defined({
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    cluster: flags.cluster,
    user: flags.user,
    server: flags.server,
    token: flags.token,
    certificateAuthority: flags['certificate-authority'],
    clientCertificate: flags['client-certificate'],
    clientKey: flags['client-key'],
    insecureSkipTlsVerify: flags['insecure-skip-tls-verify'],
    tlsServerName: flags['tls-server-name'],
    disableCompression: flags['disable-compression'],
    as: flags.as,
    asUid: flags['as-uid'],
    asGroup: flags['as-group'],
    asUserExtra: flags['as-user-extra'],
  });
}

/** The port of completion, by the flags that choose cluster and user; loads no other port. */
export async function openNames(
  flags: Partial<GlobalFlags>,
  { io, version }: Pick<Deps, 'version'> & { io: Pick<Io, 'env'> },
): Promise<NamesPort> {
  const { namesPort } = await import('../kube/resources/names.ts');
  return namesPort({ ...accessOf(flags), env: io.env, version });
}

/** What --transient-keys names. Throws NodepoolError when it is invalid. */
export async function transientKeysFrom(text: string | undefined): Promise<readonly string[] | undefined> {
  if (text === undefined) return undefined;
  const { parseTransientKeys, transientKeysProblem } = await import('../nodepool/plan/transient-states.ts');
  const problem = transientKeysProblem(text);
  if (problem !== undefined) throw new NodepoolError('usage', `--transient-keys: ${problem}`);
  return parseTransientKeys(text);
}

/** As askWeb(). */
export async function getFromWeb(url: URL, request: WebRequest): Promise<WebAnswer> {
  const { askWeb } = await import('../kube/web.ts');
  return askWeb(url, request);
}

/** As lookPath(). */
export async function lookUpProgram(command: string, env: Io['env']): Promise<CommandLookup> {
  const { lookPath } = await import('../kube/look-path.ts');
  return lookPath(command, env);
}
