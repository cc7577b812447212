/** What the end-to-end tests stand on: one control plane a test file, and the product as a user would run it. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ensureBinaries } from './binaries.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TIMEOUT_MS = 60_000;
const START_MS = 900_000;

export interface RunOptions {
  stdin?: string;
  /** Added to the environment; undefined takes a variable out. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Default 60 s; then it is killed, and `code` is null. */
  timeoutMs?: number;
}

export interface RunResult {
  /** Null when a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts a control plane before the tests of this file or suite and stops it after them. */
export function useCluster(options: ControlPlaneOptions = {}): () => ControlPlane {
  let cluster: ControlPlane | undefined;
  before(
    async () => {
      await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);
      cluster = await startControlPlane(options);
    },
    { timeout: START_MS },
  );
  after(async () => cluster?.stop());
  return () => {
    if (cluster === undefined) throw new Error('the control plane is only there inside of tests');
    return cluster;
  };
}

/** The product: the sources, or the executable that NODEPOOL_TEST_BIN names. */
export function productCommand(): [string, ...string[]] {
  const executable = process.env.NODEPOOL_TEST_BIN;
  return executable ? [executable] : [process.execPath, join(ROOT, 'bin/dev.ts')];
}

/** Runs `kubectl-nodepool ARGS` against the cluster. */
export async function cli(
  cluster: ControlPlane,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const [command, ...first] = productCommand();
  return run(command, [...first, ...args], { ...options, env: await environment(cluster, options) });
}

/** Runs kubectl against the cluster; `kubectl nodepool …` finds the product as a plugin. */
export async function kubectl(
  cluster: ControlPlane,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const { kubectl: path } = await ensureBinaries(['kubectl']);
  const plugins = await pluginFolder(cluster);
  const env = await environment(cluster, options);
  return run(path, args, { ...options, env: { ...env, PATH: `${plugins}${delimiter}${env.PATH}` } });
}

/** A folder with an executable `kubectl-nodepool` that starts the product: put it into PATH. */
export async function pluginFolder(cluster: ControlPlane): Promise<string> {
  const folder = join(cluster.dir, 'plugins');
  const quoted = productCommand().map(word => `'${word.replaceAll("'", `'\\''`)}'`);
  const launcher = join(folder, 'kubectl-nodepool');
  await mkdir(folder, { recursive: true });
  await writeFile(launcher, `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`);
  await chmod(launcher, 0o755);
  return folder;
}

/** Runs a program to its end, with nothing of ours but what is asked for. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: options.env ?? process.env,
      cwd: options.cwd ?? ROOT,
      timeout: options.timeoutMs ?? TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text;
    });
    // A program may end without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
    child.on('error', reject);
    child.on('close', code => resolve({ code, stdout, stderr }));
  });
}

/** A home of its own and no colour: nothing of the machine's or the developer's set-up gets in. */
async function environment(cluster: ControlPlane, options: RunOptions): Promise<Record<string, string | undefined>> {
  const home = join(cluster.dir, 'home');
  await mkdir(home, { recursive: true });
  return {
    PATH: process.env.PATH,
    TMPDIR: process.env.TMPDIR,
    HOME: home,
    KUBECONFIG: cluster.kubeconfig,
    NO_COLOR: '1',
    ...options.env,
  };
}
