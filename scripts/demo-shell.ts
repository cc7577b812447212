/** What the demo types: every command is echoed and then really run through kubectl's plugin mechanism. */
import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import type { ControlPlane } from '../test/cluster/control-plane.ts';
import { startWatcher } from '../test/cluster/daemon.ts';
import { pluginFolder } from '../test/cluster/plugin.ts';

export interface Shell {
  /** Echoes a command and runs it in sh; throws on an exit code not expected. */
  run(command: string, codes?: number[]): Promise<void>;
  /** Echoes a command and runs it beside what follows, as `&` does. Gives what ends it as Ctrl-C would. */
  start(command: string): () => Promise<void>;
}

/** With kubectl and the plugin on the PATH, in the folder of the cluster. */
export async function createShell(cluster: ControlPlane, kubectl: string): Promise<Shell> {
  const folders = [await pluginFolder(cluster, 'bundle'), dirname(kubectl), process.env.PATH];
  // kubectl's cache of a server that never comes back is not to stay in the user's home.
  const KUBECACHEDIR = join(cluster.dir, 'kubectl-cache');
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, KUBECACHEDIR, PATH: folders.join(delimiter) };
  const sh = (command: string) => spawn('sh', ['-c', command], { env, cwd: cluster.dir, stdio: 'inherit' });
  return {
    run(command, codes = [0]) {
      console.log(`\n$ ${command}`);
      return ended(sh(command), command, codes);
    },
    start(command) {
      console.log(`\n$ ${command} &`);
      const watcher = startWatcher(cluster.dir);
      // One process: a shell in between would keep the signal.
      const child = sh(`exec ${command}`);
      if (child.pid !== undefined) watcher.watch(child.pid);
      const end = ended(child, command, [0]);
      // It is told where it is awaited.
      end.catch(() => {});
      return async () => {
        child.kill('SIGINT');
        await end.finally(() => watcher.release());
      };
    },
  };
}

/** What a step is about, dim on a terminal. */
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
