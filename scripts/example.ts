/**
 * `npm run example NAME` runs a controller of examples/ on a real control plane, and its play.sh, which shows with
 * kubectl what it does. The controller runs until Ctrl-C.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../test/cluster/control-plane.ts';
import { CONTROLLER_BINARIES, startControllers } from '../test/cluster/controllers.ts';
import { startWatcher } from '../test/cluster/daemon.ts';
import { createNodes } from '../test/cluster/nodes.ts';
import { step } from '../test/cluster/progress.ts';
import { ROOT } from './root.ts';

const EXAMPLES = join(ROOT, 'examples');
/** Examples whose pods have to run: they need nodes and Kubernetes' own controllers. */
const WITH_WORKLOADS = ['memcached'];
const NODES = ['node-1', 'node-2'];
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const [name = '', ...flags] = process.argv.slice(2);
const names = readdirSync(EXAMPLES).filter(each => existsSync(join(EXAMPLES, each, 'main.ts')));
if (!names.includes(name)) {
  process.stderr.write(`usage: npm run example ${names.join(' | ')} [-- -v 4]\n`);
  process.exit(2);
}
process.exitCode = await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  return 1;
});

async function main(): Promise<number> {
  const controllers = WITH_WORKLOADS.includes(name) ? CONTROLLER_BINARIES : [];
  const { kubectl } = await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl', ...controllers]);
  const cluster = await step(process.stderr, 'starting etcd and kube-apiserver', () => startControlPlane());
  try {
    if (controllers.length === 0) return await show(cluster, kubectl);
    return await withWorkloads(cluster, () => show(cluster, kubectl));
  } finally {
    await cluster.stop();
  }
}

async function withWorkloads(cluster: ControlPlane, work: () => Promise<number>): Promise<number> {
  await createNodes(
    cluster,
    NODES.map(each => ({ name: each })),
  );
  const text = `starting ${CONTROLLER_BINARIES.join(', ')}`;
  const controllers = await step(process.stderr, text, () => startControllers(cluster));
  try {
    return await work();
  } finally {
    await controllers.stop();
  }
}

/** The exit code: the controller's, or 1 when a command of play.sh failed. */
async function show(cluster: ControlPlane, kubectl: string): Promise<number> {
  const path = `${dirname(kubectl)}${delimiter}${process.env.PATH}`;
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, PATH: path };
  const start = (command: string, args: string[]) => spawn(command, args, { cwd: ROOT, env, stdio: 'inherit' });
  const children = [
    start(process.execPath, [join(EXAMPLES, name, 'main.ts'), ...flags]),
    // -v prints each line before it runs.
    start('sh', ['-ev', join(EXAMPLES, name, 'play.sh')]),
  ] as const;
  const [controller, play] = children;
  const watcher = startWatcher(cluster.dir);
  for (const { pid } of children) if (pid !== undefined) watcher.watch(pid);
  let stopping = false;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      stopping = true;
      // As in setup.mjs: the terminal sends Ctrl-C to the children too.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) for (const child of children) child.kill(signal);
    });
  }
  const [end, failed] = await Promise.all([exitCode(controller), exitCode(play).then(code => afterwards(code))]);
  await watcher.release();
  return failed && !stopping ? 1 : end;

  function afterwards(code: number): boolean {
    if (code !== 0 && !stopping) process.stderr.write(`${name}/play.sh ended with ${code}\n`);
    if (code !== 0) controller.kill('SIGTERM');
    else process.stderr.write('\nThat was it. The controller runs on; Ctrl-C ends it and the cluster.\n');
    return code !== 0;
  }
}

async function exitCode(child: ChildProcess): Promise<number> {
  const [code, signal]: [number | null, NodeJS.Signals | null] = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (...end) => resolve(end));
  });
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
