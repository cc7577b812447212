/** Child processes that never outlive this one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

const LOG_LINES = 25;

/**
 * Reads `pid N` lines; when its input ends without `release`, which is what the death of the parent looks like,
 * it kills those processes and removes the folder.
 */
const WATCHER = `
pids=
while read -r word pid; do
  case $word in
    pid) pids="$pids $pid" ;;
    release) exit 0 ;;
  esac
done
[ -z "$pids" ] || kill -9 $pids
rm -rf "$1"
`;

export interface Watcher {
  watch(pid: number): void;
  /** Stops watching the processes and the folder. Resolves when the watcher has exited. */
  release(): Promise<void>;
}

/**
 * Starts the process that cleans up after this one, however it ends: exit, uncaught error, Ctrl-C or SIGKILL.
 * It is in a session of its own, so that the terminal's signals do not reach it.
 */
export function startWatcher(folder: string): Watcher {
  const child = spawn('sh', ['-c', WATCHER, 'watcher', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  const gone = once(child, 'exit');
  child.stdin.on('error', () => {});
  child.unref();
  return {
    watch: pid => {
      child.stdin.write(`pid ${pid}\n`);
    },
    release: async () => {
      child.ref();
      child.stdin.end('release\n');
      await gone;
    },
  };
}

export interface Daemon {
  readonly pid: number;
  exited(): boolean;
  /** The last lines of its log. */
  logTail(): string;
  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
}

/** Starts a program with its output in `log`. It keeps neither the terminal's signals nor this process's event loop. */
export function startDaemon(path: string, args: readonly string[], log: string, watcher: Watcher): Daemon {
  const output = openSync(log, 'a');
  const child = spawn(path, args, { stdio: ['ignore', output, output], detached: true });
  closeSync(output);
  const { pid } = child;
  if (pid === undefined) {
    child.on('error', () => {});
    throw new Error(`${path} could not be started`);
  }
  watcher.watch(pid);
  child.unref();
  return {
    pid,
    exited: () => hasExited(child),
    logTail: () => readFileSync(log, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n'),
    stop: graceMs => stop(child, graceMs),
  };
}

async function stop(child: ChildProcess, graceMs: number): Promise<void> {
  if (hasExited(child)) return;
  child.ref();
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await gone;
  clearTimeout(timer);
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
