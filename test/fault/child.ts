/** Runs `reconcile --watch` as a process that tests kill and inspect. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { productCommand } from '../cluster/product.ts';
import { eventually } from '../e2e/watching.ts';

export class Child {
  readonly #process: ChildProcess;
  readonly #exit: Promise<number | null>;
  #log = '';

  constructor(kubeconfig: string, flags: readonly string[]) {
    const [program, ...args] = productCommand();
    this.#process = spawn(program, [...args, 'reconcile', '--watch', ...flags], {
      env: { ...process.env, KUBECONFIG: kubeconfig, NO_COLOR: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#exit = new Promise(resolve => this.#process.once('exit', resolve));
    this.#process.stderr?.setEncoding('utf8').on('data', text => {
      this.#log += text;
    });
  }

  /** What it has written to stderr. */
  log(): string {
    return this.#log;
  }

  /** Lines of its log that match. */
  lines(pattern: RegExp): string[] {
    return this.#log.split('\n').filter(line => pattern.test(line));
  }

  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Resolves when its caches have synced; fails when it ends first. */
  async synced(ms?: number): Promise<void> {
    const isSynced = () => this.#log.includes('caches have synced') || !this.isAlive;
    await eventually('the caches sync', isSynced, ms).catch((error: Error) => {
      // The log at the time of the error.
      throw new Error(`${error.message}\n${this.#log}`, { cause: error });
    });
    if (!this.isAlive) throw new Error(`reconcile --watch has ended:\n${this.#log}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sends the signal and resolves with the exit code; null when the signal ended it. */
  end(signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
    this.#process.kill(signal);
    return this.#exit;
  }

  /** Resident memory in megabytes, now and at its peak. */
  async memory(): Promise<{ rss: number; peak: number }> {
    const text = await readFile(`/proc/${this.#process.pid}/status`, 'utf8');
    const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
    return { rss: megabytes('VmRSS'), peak: megabytes('VmHWM') };
  }
}

/** Starts it without waiting. It ends with the test. */
export function startChild(
  t: { after(fn: () => unknown): void },
  { kubeconfig }: { kubeconfig: string },
  ...flags: string[]
): Child {
  const child = new Child(kubeconfig, flags);
  t.after(() => child.end('SIGKILL'));
  return child;
}
