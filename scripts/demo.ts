/**
 * `npm run demo [-- --nodes N] [-- --keep]`: the main job on a real control plane, as a user would type it. Every
 * command is echoed and then really run through kubectl's plugin mechanism; nothing of what it shows is made up.
 */
import { spawn } from 'node:child_process';
import { delimiter } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../test/cluster/control-plane.ts';
import { createNodes, type NodeSpec } from '../test/cluster/nodes.ts';
import { pluginFolder } from '../test/cluster/plugin.ts';
import { step } from '../test/cluster/progress.ts';
import { bundle } from './build.ts';

const GPU_SHARE = 4;
const GPU = { cpu: '16', memory: '65536000Ki', pods: '110', 'nvidia.com/gpu': '4' };

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '6' }, keep: { type: 'boolean', default: false } },
});
const count = Number(values.nodes);
if (!Number.isInteger(count) || count < 4 || count > 50_000) {
  process.stderr.write('--nodes takes a whole number from 4 to 50000\n');
  process.exit(2);
}
process.exitCode = await demo().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  return 1;
});

async function demo(): Promise<number> {
  const progress = process.stderr;
  const { kubectl } = await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);
  await step(progress, 'bundling kubectl-nodepool', bundle);
  const cluster = await step(progress, 'starting etcd and kube-apiserver', () => startControlPlane());
  let kept = false;
  try {
    const specs = nodeSpecs(count);
    await step(progress, `creating ${specs.length} simulated nodes`, () => createNodes(cluster, specs));
    await play(await shell(cluster, kubectl), values.keep);
    if (values.keep) {
      const end = await cluster.keep();
      kept = true;
      const path = `${await pluginFolder(cluster, 'bundle')}${delimiter}${kubectl.replace(/\/kubectl$/, '')}`;
      console.log(`\n# The cluster stays up. Point kubectl at it with:\n`);
      console.log(`export KUBECONFIG=${cluster.kubeconfig} PATH="${path}${delimiter}$PATH"`);
      console.log(`\n# and end it with:\n\n${end}`);
    }
    return 0;
  } finally {
    if (!kept) await cluster.stop();
  }
}

/** A control plane node, workers, and a quarter of GPU nodes; roles as a provisioner sets them. */
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
      return { name: `gpu-${number}`, labels: { 'cloud.example.com/accelerator': 'nvidia' }, allocatable: GPU };
    // The last one is spare: it joins by `create --nodes`.
    const labels: Record<string, string> = index === total - 1 ? {} : { 'node-role.kubernetes.io/worker': '' };
    return { name: index === total - 1 ? 'spare' : `worker-${number}`, labels };
  });
}

type Shell = (command: string, codes?: number[]) => Promise<void>;

async function play(run: Shell, keep: boolean): Promise<void> {
  note('Teach the cluster what a NodePool is.');
  await run('kubectl nodepool install');
  note('Two pools: nodes with the role "worker", and nodes that a label marks as having a GPU.');
  await run('kubectl nodepool create worker --label tier=general --nodes spare');
  await run(
    'kubectl nodepool create gpu --node-selector cloud.example.com/accelerator=nvidia --taint nvidia.com/gpu=present:NoSchedule --handler nvidia',
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
  await run('kubectl label node spare node-role.kubernetes.io/worker- cloud.example.com/accelerator=nvidia');
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

function note(text: string): void {
  console.log(`\n\u001b[2m# ${text}\u001b[22m`.replace(/\u001b\[\d+m/g, process.stdout.isTTY ? '$&' : ''));
}

/** Echoes a command and runs it in sh with kubectl and the plugin on the PATH; throws on an exit code not expected. */
async function shell(cluster: ControlPlane, kubectl: string): Promise<Shell> {
  const folders = [await pluginFolder(cluster, 'bundle'), kubectl.replace(/\/kubectl$/, ''), process.env.PATH];
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, PATH: folders.join(delimiter) };
  return (command, codes = [0]) => {
    console.log(`\n$ ${command}`);
    return new Promise((resolve, reject) => {
      const child = spawn('sh', ['-c', command], { env, stdio: 'inherit' });
      child.on('error', reject);
      child.on('exit', code => {
        if (codes.includes(code ?? -1)) resolve();
        else reject(new Error(`"${command}" ended with ${code}`));
      });
    });
  };
}
