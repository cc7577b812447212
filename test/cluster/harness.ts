/** Base of the end-to-end tests: one control plane per test file, and the product as a user runs it. */
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, afterEach, before, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ROOT } from '../../scripts/root.ts';
import { ensureBinaries } from './binaries.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { installCrd } from './crd.ts';
import { leaseControlPlane, lenderSocket } from './lease.ts';
import { pluginFolder } from './plugin.ts';
import { productCommand } from './product.ts';
import { type RunOptions, type RunResult, run } from './run.ts';

const START_MS = 900_000;

export interface ClusterOptions extends ControlPlaneOptions {
  /** Installs the CRD. */
  crd?: boolean;
  /** A control plane that no other file uses, for tests that stop the API server, write to etcd or measure. */
  own?: boolean;
}

/**
 * A fresh control plane for the tests of this file or suite.
 * @param prepare runs once it is up: node:test does not wait for one root hook before it starts the next
 */
export function useCluster(
  options: ClusterOptions = {},
  prepare?: (cluster: ControlPlane) => Promise<void>,
): () => ControlPlane {
  let cluster: ControlPlane | undefined;
  let isPrepared = false;
  /** In themselves, or in what was to clean up after them. */
  const failed = new Set<TestContext>();
  before(
    async () => {
      await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);
      cluster = await startOrLease(options);
      await prepare?.(cluster);
      isPrepared = true;
    },
    { timeout: START_MS },
  );
  afterEach(context => {
    const test = context as TestContext;
    failed.add(test);
    // It runs after what the test has registered, unless that fails.
    if (test.passed) test.after(() => void failed.delete(test));
  });
  after(async () => cluster?.stop(!isPrepared || failed.size > 0));
  return () => {
    if (cluster === undefined) throw new Error('the control plane is only there inside of tests');
    return cluster;
  };
}

async function startOrLease({ crd = false, own = false, ...options }: ClusterOptions): Promise<ControlPlane> {
  const lender = lenderSocket();
  if (lender !== undefined && !own && options.apiserverFlags === undefined)
    return leaseControlPlane(lender, crd ? 'pools' : 'bare');
  const cluster = await startControlPlane(options);
  if (crd) await installCrd(cluster.kubeconfig);
  return cluster;
}

/** What a run takes from its control plane. */
type Surroundings = Pick<ControlPlane, 'kubeconfig' | 'dir'>;

/** Runs `kubectl-nodepool ARGS` against the cluster. */
export async function cli(
  cluster: Surroundings,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const [command, ...first] = productCommand();
  return run(command, [...first, ...args], { ...options, env: await environment(cluster, options) });
}

/** Words of commands that watch, which end their process soon after, whatever else it does. */
const ENDS_PROCESS = /^(wait|status|view|-\w*w|--watch(-only)?(=true)?)$/;

/**
 * As cli(), but in this process and from the sources: in a tenth of the time, for what a command says and does, and not for how
 * the program that users install starts. One that watches has a process all the same.
 */
export async function cliHere(
  cluster: Surroundings,
  args: readonly string[],
  options: RunOptions & { isTerminal?: boolean } = {},
): Promise<RunResult> {
  if (options.cwd !== undefined || args.some(arg => ENDS_PROCESS.test(arg))) return cli(cluster, args, options);
  const [{ main }, { testIo }] = await Promise.all([import('../../src/main.ts'), import('../unit/cli/test-io.ts')]);
  const { isTerminal = false, stdin = '' } = options;
  const env = await environment(cluster, options);
  const io = testIo({ stdin, stdoutIsTTY: isTerminal, stderrIsTTY: isTerminal, env, now: () => new Date() });
  const code = await main([...args], io, ROOT);
  await setImmediate();
  return { code, stdout: io.stdoutText(), stderr: io.stderrText() };
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

/** Its own home and no colour, so that the machine's and developer's settings do not matter. */
async function environment(cluster: Surroundings, options: RunOptions): Promise<Record<string, string | undefined>> {
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
