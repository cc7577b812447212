/**
 * `npm run pictures [NAME…]` redraws docs/pictures. Every command runs in a real terminal on a real control plane with
 * simulated nodes; from `top` on, with Kubernetes' own controllers and pods.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../test/cluster/control-plane.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../test/cluster/controllers.ts';
import { createNodes } from '../test/cluster/nodes.ts';
import { pluginFolder } from '../test/cluster/plugin.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { openCommand, type Terminal } from '../test/e2e/terminal.ts';
import { eventually } from '../test/e2e/watching.ts';
import { readLines } from './pictures/cells.ts';
import { NODES, WORKLOADS } from './pictures/scene.ts';
import { drawPicture } from './pictures/svg.ts';
import { ROOT } from './root.ts';

const FOLDER = join(ROOT, 'docs/pictures');
/** Wide enough for the tables, narrow enough for a web page. */
const COLUMNS = 106;
const ROWS = 45;
const VIEW_ROWS = 14;
/** A drain waits for a PodDisruptionBudget. */
const MAX_MS = 180_000;

const progress = process.stderr;
const wanted = process.argv.slice(2);
process.exitCode = await pictures().catch((error: Error) => {
  progress.write(`${error.message}\n`);
  return 1;
});

interface Studio {
  /** Runs sh with kubectl and the plugin on the PATH. Throws on another exit code. */
  sh(script: string, codes?: number[]): Promise<void>;
  /** Draws a command's terminal output as docs/pictures/NAME.svg. */
  picture(name: string, command: string, description: string): Promise<void>;
  /** Types each key once the screen matches, draws the screen, and quits with q. */
  screen(name: string, command: string, description: string, keys: [seen: RegExp, type: string][]): Promise<void>;
}

async function pictures(): Promise<number> {
  const { kubectl } = await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl', ...CONTROLLER_BINARIES]);
  await mkdir(FOLDER, { recursive: true });
  const cluster = await step(progress, 'starting etcd and kube-apiserver', () => startControlPlane());
  let controllers: Controllers | undefined;
  try {
    const studio = await openStudio(cluster, kubectl);
    await createNodes(cluster, NODES);
    await withoutPods(studio);
    controllers = await step(progress, `starting ${CONTROLLER_BINARIES.join(', ')}`, () => startControllers(cluster));
    await withPods(studio);
    return 0;
  } finally {
    await controllers?.stop();
    await cluster.stop();
  }
}

/** Without kubelets: nodes stay Ready as they were created. */
async function withoutPods({ sh, picture, screen }: Studio): Promise<void> {
  await sh(`kubectl nodepool install
kubectl nodepool create worker --label tier=general
kubectl nodepool create batch --taint dedicated=batch:NoSchedule
kubectl nodepool create gpu --node-selector node-restriction.kubernetes.io/accelerator=nvidia \\
  --taint nvidia.com/gpu=present:NoSchedule --handler nvidia`);
  await sh('kubectl nodepool reconcile');
  await sh(`kubectl taint node gpu-2 nvidia.com/gpu-
kubectl nodepool move spare-1 --to worker
kubectl label node spare-1 node-role.kubernetes.io/worker- node-role.kubernetes.io/batch=
kubectl nodepool edit batch --label queue=nightly`);
  await picture(
    'diff',
    'kubectl nodepool diff',
    'What the next reconcile would change, node by node and why: a label that the spec got, a taint that somebody took away, a node that moves to another pool.',
  );
  await sh('kubectl nodepool reconcile');
  // The later pool gets a later creationTimestamp, so the earlier one keeps its nodes.
  await sleep(1_100);
  await sh(
    `kubectl nodepool create trial --node-selector node-restriction.kubernetes.io/accelerator=nvidia --taint team=ml:NoSchedule`,
  );
  await sh('kubectl nodepool reconcile', [3]);
  await picture(
    'get',
    'kubectl nodepool get',
    'A table of pools with status, nodes, resources and taints. Pool trial is in Conflict: its nodes belong to pool gpu.',
  );
  await screen(
    'view',
    'kubectl nodepool view',
    'The dashboard: all nodes in one bar, then the pools, each with a bar of nodes that are ready, cordoned or not ready. Below the list stands why the selected pool is in conflict.',
    [
      [/^>batch /m, 'G'],
      [/^><none> /m, 'k'],
      [/^>worker /m, 'k'],
      [/^trial: NodeConflict/m, ''],
    ],
  );
  await sh('kubectl nodepool delete trial --yes');
}

/** Pods run here, so they can be evicted. */
async function withPods({ sh, picture }: Studio): Promise<void> {
  await sh('kubectl wait node --all --for=condition=Ready --timeout=60s');
  await sh(`kubectl apply -f - <<'END'\n${WORKLOADS}END`);
  await sh('kubectl rollout status deployment --timeout=120s');
  await picture(
    'top',
    'kubectl nodepool top --by resource',
    'For each pool and resource what its nodes have, what their pods ask for, and what is free, with a bar that is yellow from 80 percent on and red from 95 on.',
  );
  await picture(
    'drain',
    'kubectl nodepool drain batch --parallel 2 --yes',
    'The nodes of a pool are cordoned, then drained two at a time. Pods whose eviction a PodDisruptionBudget refuses are named with it in yellow, and are evicted when it allows that.',
  );
}

async function openStudio(cluster: ControlPlane, kubectl: string): Promise<Studio> {
  const PATH = [await pluginFolder(cluster), dirname(kubectl), process.env.PATH].join(delimiter);
  const env = { PATH, HOME: cluster.dir, KUBECONFIG: cluster.kubeconfig, TMPDIR: process.env.TMPDIR };
  const draw = async (name: string, command: string, description: string, rows: number, show: Shooting) => {
    if (wanted.length > 0 && !wanted.includes(name)) return;
    await step(progress, command, async () => {
      const ends: (() => unknown)[] = [];
      const t = { after: (end: () => unknown) => void ends.push(end) };
      try {
        const terminal = openCommand(t, cluster, ['sh', '-c', command], { columns: COLUMNS, rows, env: { PATH } });
        await show(terminal);
        const lines = readLines(terminal.buffer(), rows);
        const picture = drawPicture({ title: command, description, columns: COLUMNS, lines });
        await writeFile(join(FOLDER, `${name}.svg`), picture);
      } finally {
        for (const end of ends) await end();
      }
    });
  };
  const sh = async (script: string, codes = [0]) => {
    const { code, stdout, stderr } = await run('sh', ['-ec', script], { env, timeoutMs: MAX_MS });
    if (!codes.includes(code ?? -1)) throw new Error(`${script}\nended with ${code}:\n${stdout}${stderr}`);
  };
  return {
    sh,
    picture: (name, command, description) =>
      draw(name, command, description, ROWS, async ({ exit, settled, screen }) => {
        let over = false;
        void exit.then(() => {
          over = true;
        });
        await eventually(`${command} ends`, () => over, MAX_MS).catch((error: Error) => {
          throw new Error(`${error.message}\n${screen()}`, { cause: error });
        });
        await settled();
      }),
    screen: (name, command, description, keys) =>
      draw(name, command, description, VIEW_ROWS, async ({ shows, settled, type }) => {
        for (const [seen, typed] of keys) {
          await shows(seen);
          type(typed);
        }
        await settled();
      }),
  };
}

/** Waits until the terminal shows what is to be drawn. */
type Shooting = (terminal: Terminal) => Promise<void>;
