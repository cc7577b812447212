/** Creates the dependencies of a command when it asks for them, so that `--help` never loads the Kubernetes client. */
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
  /** The maximum number of requests in flight. */
  concurrency?: number;
  /** Called with the status code of every response, and for every request that got none. */
  onRequest?: (code: string, method: string, host: string) => void;
  /** The longest wait for a login, after the first login, in milliseconds. */
  loginLimitMs?: number;
  /** Whether the dashboard uses the terminal; a login plugin must not prompt or print then. */
  isTerminalTaken?: () => boolean;
  /** Receives warnings and the lines of `-v`, which otherwise go to stderr. */
  log?: (level: 'warning' | 'debug', text: string) => void;
  /** Called right before each write except writes of leases; false makes the write fail. */
  mayWrite?: () => boolean;
  /** The server validates each write and persists none. */
  dryRun?: boolean;
  /** Node annotations to read in addition to those of pools. */
  annotations?: readonly string[];
  /** Called once the first request has been sent: loads the modules that print the response. */
  meanwhile?: () => void;
}

/** Passed to a command's execute(). */
export interface Deps {
  io: Io;
  version: string;
  /** The package's directory. */
  root: string;
  /** The value of --request-timeout; 0 means no timeout. */
  requestTimeoutMs: number | undefined;
  /** A spinner on stderr. Silent without a terminal, and with -v, whose lines it would break. */
  progress(text: string): Promise<Progress>;
  /** The only connection of this process. A second call is a bug: its options would get lost. Throws NodepoolError. */
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
 * The dependencies of one run; close() closes the connection. opened() returns where the command connected to.
 * @param open a connection to use instead of a new one from the flags; it is not closed
 */
export function createFactory(
  { io, version, root }: Pick<Deps, 'io' | 'version' | 'root'>,
  flags: GlobalFlags,
  open?: Connection,
): { deps: Deps; opened(): Promise<Connection | undefined>; close(): Promise<void> } {
  let connection: Promise<Connection> | undefined;
  /** Spinners are hidden while a login plugin prompts on the same terminal: they would overwrite its questions. */
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

/** Returns the open connection. Throws NodepoolError before any request if these options need another one. */
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

/** The flags that choose the cluster and the user, as connect() and namesPort() take them. */
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

/** The port of completion, from the flags that choose the cluster and the user; loads no other port. */
export async function openNames(
  flags: Partial<GlobalFlags>,
  { io, version }: Pick<Deps, 'version'> & { io: Pick<Io, 'env'> },
): Promise<NamesPort> {
  const { namesPort } = await import('../kube/resources/names.ts');
  return namesPort({ ...accessOf(flags), env: io.env, version });
}

/** The keys in --transient-keys. Throws NodepoolError if the value is invalid. */
export async function transientKeysFrom(text: string | undefined): Promise<readonly string[] | undefined> {
  if (text === undefined) return undefined;
  const { parseTransientKeys, transientKeysProblem } = await import('../nodepool/plan/transient-states.ts');
  const problem = transientKeysProblem(text);
  if (problem !== undefined) throw new NodepoolError('usage', `--transient-keys: ${problem}`);
  return parseTransientKeys(text);
}

/** Calls askWeb(), which is loaded here. */
export async function getFromWeb(url: URL, request: WebRequest): Promise<WebAnswer> {
  const { askWeb } = await import('../kube/web.ts');
  return askWeb(url, request);
}

/** Calls lookPath(), which is loaded here. */
export async function lookUpProgram(command: string, env: Io['env']): Promise<CommandLookup> {
  const { lookPath } = await import('../kube/look-path.ts');
  return lookPath(command, env);
}
