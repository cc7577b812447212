/** Prints the commands of the demo and runs them through kubectl's plugin mechanism. */
import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import type { ControlPlane } from '../test/cluster/control-plane.ts';
import { startWatcher } from '../test/cluster/daemon.ts';
import { pluginFolder } from '../test/cluster/plugin.ts';

export interface Shell {
  /** The working directory of the commands. */
  dir: string;
  /** Prints a command and runs it in sh. Throws on an unexpected exit code. */
  run(command: string, codes?: number[]): Promise<void>;
  /** Prints a command and runs it in the background. Returns a function that interrupts it like Ctrl-C. */
  start(command: string): () => Promise<void>;
}

/** A shell in the cluster's folder, with kubectl and the plugin on the PATH. */
export async function createShell(cluster: ControlPlane, kubectl: string): Promise<Shell> {
  const folders = [await pluginFolder(cluster, 'bundle'), dirname(kubectl), process.env.PATH];
  // kubectl's cache of a temporary server should not stay in the user's home.
  const KUBECACHEDIR = join(cluster.dir, 'kubectl-cache');
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, KUBECACHEDIR, PATH: folders.join(delimiter) };
  const sh = (command: string) => spawn('sh', ['-c', command], { env, cwd: cluster.dir, stdio: 'inherit' });
  return {
    dir: cluster.dir,
    run(command, codes = [0]) {
      console.log(`\n$ ${command}`);
      return ended(sh(command), command, codes);
    },
    start(command) {
      console.log(`\n$ ${command} &`);
      const watcher = startWatcher(cluster.dir);
      // `exec`, because a shell in between would not pass the signal on.
      const child = sh(`exec ${command}`);
      if (child.pid !== undefined) watcher.watch(child.pid);
      const end = ended(child, command, [0]);
      // The caller that awaits it receives the error.
      end.catch(() => {});
      return async () => {
        child.kill('SIGINT');
        await end.finally(() => watcher.release());
      };
    },
  };
}

/** Prints a heading, dim on a terminal. */
export function note(text: string): void {
  console.log(`\n\u001b[2m# ${text}\u001b[22m`.replace(/\u001b\[\d+m/g, process.stdout.isTTY ? '$&' : ''));
}

function ended(child: ReturnType<typeof spawn>, command: string, codes: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', code => {
      if (codes.includes(code ?? -1)) resolve();
      else reject(new Error(`"${command}" ended with ${code}`));
    });
  });
}
