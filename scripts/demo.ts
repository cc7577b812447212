/**
 * `npm run demo [-- --nodes N] [-- --keep]` shows the main commands on a real control plane. `-- --full` adds
 * workloads, the controllers that run them and, where it can, a real node. With `--keep` that is there until Ctrl-C.
 */
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinaries, findBinary } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../test/cluster/controllers.ts';
import { NODE_BINARIES } from '../test/cluster/node/binaries.ts';
import { nodeObstacle, type RealNode } from '../test/cluster/node/start.ts';
import { createNodes, type NodeSpec } from '../test/cluster/nodes.ts';
import { pluginFolder } from '../test/cluster/plugin.ts';
import type { Binary } from '../test/cluster/programs.ts';
import { step } from '../test/cluster/progress.ts';
import { buildPackage } from './build.ts';
import { importImages, startRealNode } from './demo-controller.ts';
import { AGENT_IMAGE, playFull } from './demo-full.ts';
import { interrupted, textOfKept } from './demo-keep.ts';
import { createShell, note, type Shell } from './demo-shell.ts';
import { ROOT } from './root.ts';

const GPU_SHARE = 4;
const GPU = { cpu: '16', memory: '65536000Ki', pods: '110', 'nvidia.com/gpu': '4' };
const FEW = 6;

const { values } = readArgs();
if (values.full && values.nodes !== undefined) {
  process.stderr.write(`--full has its own ${FEW} nodes: leave out --nodes\n`);
  process.exit(2);
}
const count = Number(values.nodes ?? FEW);
if (!Number.isInteger(count) || count < 4 || count > 50_000) {
  process.stderr.write('--nodes takes a whole number from 4 to 50000\n');
  process.exit(2);
}
process.exitCode = await demo().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  return 1;
});

function readArgs() {
  try {
    return parseArgs({
      options: {
        nodes: { type: 'string' },
        keep: { type: 'boolean', default: false },
        full: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nusage: npm run demo [-- [--nodes N | --full] [--keep]]\n`);
    process.exit(2);
  }
}

async function demo(): Promise<number> {
  const progress = process.stderr;
  const obstacle = values.full ? await step(progress, 'looking for what a real node needs', nodeObstacle) : undefined;
  if (obstacle !== undefined) progress.write(`the controller runs as a process, not in pods: ${obstacle}\n`);
  const isReal = values.full && obstacle === undefined;
  const names: Binary[] = ['etcd', 'kube-apiserver', 'kubectl'];
  if (!values.full) console.log(await introduction(names));
  const more = [...(values.full ? CONTROLLER_BINARIES : []), ...(isReal ? NODE_BINARIES : [])];
  const { kubectl } = await ensureBinaries([...names, ...more]);
  const helm = isReal && values.keep ? Object.values(await ensureBinaries(['helm'])) : [];
  await step(progress, 'bundling kubectl-nodepool', buildPackage);
  const cluster = await step(progress, 'starting etcd and kube-apiserver', () =>
    startControlPlane({ controlled: values.full }),
  );
  let controllers: Controllers | undefined;
  let node: RealNode | undefined;
  let kept = false;
  try {
    const [first, ...others] = nodeSpecs(count) as [NodeSpec, ...NodeSpec[]];
    const simulated = isReal ? others : [first, ...others];
    const create = () =>
      step(progress, `creating ${simulated.length} simulated nodes`, () => createNodes(cluster, simulated));
    const shell = await createShell(cluster, kubectl);
    if (values.full) {
      if (isReal) {
        const real = await step(progress, 'starting kubelet and containerd', () => startRealNode(cluster, first));
        node = real;
        await step(progress, 'building the image of the controller', () => importImages(real, AGENT_IMAGE));
      }
      const start = async () => {
        const text = `starting ${CONTROLLER_BINARIES.join(', ')}`;
        controllers = await step(progress, text, () => startControllers(cluster));
      };
      await playFull({ shell, cluster, node, startControllers: start, createNodes: create, keep: values.keep });
    } else {
      await create();
      await play(shell, values.keep);
    }
    if (values.keep) {
      const path = [await pluginFolder(cluster, 'bundle'), ...[kubectl, ...helm].map(program => dirname(program))];
      const exports = `export KUBECONFIG=${cluster.kubeconfig} PATH="${[...path, '$PATH'].join(delimiter)}"`;
      if (node === undefined) {
        const ends = [await controllers?.keep(), await cluster.keep()];
        kept = true;
        console.log(`\n# The cluster stays up. Point kubectl at it with:\n\n${exports}`);
        console.log(`\n# and end it with:\n\n${ends.filter(end => end !== undefined).join('; ')}`);
      } else {
        console.log(await textOfKept(cluster, node, exports));
        await interrupted();
      }
    }
    return 0;
  } finally {
    await node?.stop();
    if (!kept) {
      await controllers?.stop();
      await cluster.stop();
    }
  }
}

/** What it will show, and how long that takes. */
async function introduction(names: readonly Binary[]): Promise<string> {
  const found = await Promise.all(names.map(name => findBinary(name)));
  const missing = names.filter((_, at) => found[at] === undefined);
  const first = `; ${missing.join(', ')} are downloaded first, or built by Go, which takes 5 to 12 minutes once`;
  const guide = readFileSync(join(ROOT, 'docs/guide.md'), 'utf8');
  const [table = ''] = /^\$ kubectl nodepool get\n[^`]*/m.exec(guide) ?? [];
  return `Pools of nodes on a real API server, in half a minute${missing.length > 0 ? first : ''}. It comes to this:\n\n${table}`;
}

/** A control-plane node, workers, and a quarter GPU nodes, with the role labels that a provisioner would set. */
function nodeSpecs(total: number): NodeSpec[] {
  const gpus = Math.max(1, Math.floor(total / GPU_SHARE));
  const width = String(total).length;
  return Array.from({ length: total }, (_, index): NodeSpec => {
    if (index === 0) {
      return {
        name: 'control-plane-0',
        labels: { 'node-role.kubernetes.io/control-plane': '' },
        taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
      };
    }
    const number = String(index).padStart(width, '0');
    if (index <= gpus)
      return {
        name: `gpu-${number}`,
        labels: { 'node-restriction.kubernetes.io/accelerator': 'nvidia' },
        allocatable: GPU,
      };
    // The last node has no role: `create --nodes` adds it.
    const labels: Record<string, string> = index === total - 1 ? {} : { 'node-role.kubernetes.io/worker': '' };
    return { name: index === total - 1 ? 'spare' : `worker-${number}`, labels };
  });
}

async function play({ run }: Shell, keep: boolean): Promise<void> {
  note('Install the CRD.');
  await run('kubectl nodepool install');
  note('Two pools: nodes with the role "worker", and nodes that a label marks as having a GPU.');
  await run('kubectl nodepool create worker --label tier=general --nodes spare');
  await run(
    'kubectl nodepool create gpu --node-selector node-restriction.kubernetes.io/accelerator=nvidia --taint nvidia.com/gpu=present:NoSchedule --handler nvidia',
  );
  note('See what that would do to the nodes, then do it.');
  await run(count > 20 ? 'kubectl nodepool diff | tail -5' : 'kubectl nodepool diff', [0, 1]);
  await run('kubectl nodepool reconcile');
  await run('kubectl nodepool get');
  await run(count > 200 ? 'kubectl nodepool describe gpu | head -60' : 'kubectl nodepool describe gpu');
  note('Change a pool, by flags or in $EDITOR; the nodes follow at the next reconcile.');
  await run('kubectl nodepool edit worker --label tier=batch --taint dedicated=batch:PreferNoSchedule');
  await run('kubectl nodepool reconcile worker');
  note('A node moves from one pool to the other: one write takes the old labels off and puts the new ones on.');
  await run(
    'kubectl label node spare node-role.kubernetes.io/worker- node-restriction.kubernetes.io/accelerator=nvidia',
  );
  await run('kubectl nodepool diff', [0, 1]);
  await run('kubectl nodepool reconcile');
  note("Somebody removes the pool's taint and adds one of their own: ours comes back, theirs stays.");
  await run('kubectl taint node spare nvidia.com/gpu:NoSchedule- team=ml:NoSchedule');
  await run('kubectl nodepool diff', [0, 1]);
  await run('kubectl nodepool reconcile');
  await run('kubectl get node spare -o jsonpath=\'{.spec.taints}{"\\n"}\'');
  note('What happened, as events.');
  await run(count > 200 ? 'kubectl nodepool events | cut -c1-120 | tail -8' : 'kubectl nodepool events');
  note('Delete a pool: its nodes are released at once, no controller is needed.');
  await run('kubectl nodepool delete gpu --yes');
  await run('kubectl get node spare -o jsonpath=\'{.spec.taints}{"\\n"}\'');
  await run('kubectl nodepool get');
  if (!keep) await run('kubectl nodepool uninstall --cascade --yes');
}
