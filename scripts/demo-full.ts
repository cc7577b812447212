/** `npm run demo -- --full`: on which nodes pods run, while a controller reconciles the pools. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../test/cluster/control-plane.ts';
import type { RealNode } from '../test/cluster/node/start.ts';
import { besidePods, besideProcess } from './demo-controller.ts';
import { note, type Shell } from './demo-shell.ts';
import { imageOf, type Workload, workload } from './workload.ts';

/** Spreads the pods evenly over the nodes. */
const spread = (name: string, more = '') => [
  'topologySpreadConstraints:',
  `- {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, ${more}labelSelector: {matchLabels: {app: ${name}}}}`,
];

const WORKLOADS: readonly Workload[] = [
  // These pods use the RuntimeClass of pool gpu.
  { name: 'train', replicas: 2, spec: ['runtimeClassName: node-pool-gpu', ...spread('train')] },
  // Pods without a RuntimeClass, spread over the nodes whose taints they tolerate.
  { name: 'web', replicas: 4, spec: spread('web', 'nodeTaintsPolicy: Honor, ') },
  // One pod on every node, because it tolerates all taints.
  { kind: 'DaemonSet', name: 'agent', spec: ['tolerations: [{operator: Exists}]'] },
];

export const AGENT_IMAGE = imageOf('agent');

interface FullStory {
  shell: Shell;
  cluster: ControlPlane;
  /** The node for the pods of the controller, where there can be one. */
  node: RealNode | undefined;
  /** Starts kube-controller-manager, the scheduler and the kubelets of simulated nodes. */
  startControllers(): Promise<void>;
  createNodes(): Promise<void>;
  /** Whether the CRD stays in the cluster. */
  keep: boolean;
}

export async function playFull({
  shell,
  cluster,
  node,
  startControllers,
  createNodes,
  keep,
}: FullStory): Promise<void> {
  const { run, dir } = shell;
  for (const one of WORKLOADS) await writeFile(join(dir, `${one.name}.yaml`), workload(one));

  note('Install the CRD.');
  await run('kubectl nodepool install');
  console.log();
  // After the CRD: the garbage collector discovers new kinds only every 30 s.
  await startControllers();
  const story = async () => {
    console.log();
    // Pods of the controller that got to one of these nodes would only seem to run.
    await createNodes();
    await run('kubectl get nodes');
    await whileItRuns(run);
  };
  await (node === undefined ? besideProcess(shell, story) : besidePods(shell, cluster, node, story));
  note('And by force: no controller, and nothing that holds the pool. The garbage collector takes its RuntimeClass.');
  await run(`kubectl patch npool worker --type=merge -p '{"metadata":{"finalizers":null}}'`);
  await run('kubectl delete npool worker');
  await run('kubectl wait runtimeclass/node-pool-worker --for=delete --timeout=60s');
  note('Nobody released its nodes. The next reconcile does.');
  await run('kubectl nodepool diff', [0, 1]);
  await run('kubectl nodepool reconcile');
  if (!keep) await run('kubectl nodepool uninstall --cascade --yes');
}

async function whileItRuns(run: Shell['run']): Promise<void> {
  note('Two pools. The taint of the GPU nodes keeps pods away; the RuntimeClass of the pool lets its own in.');
  await run('kubectl nodepool create worker --label tier=general --handler runc --nodes spare');
  await run(
    'kubectl nodepool create gpu --node-selector node-restriction.kubernetes.io/accelerator=nvidia --taint nvidia.com/gpu=present:NoSchedule --handler nvidia',
  );
  await run("kubectl wait npool --all --for=jsonpath='{.status.status}'=200 --timeout=60s");
  await run('kubectl nodepool get');
  await run('kubectl get runtimeclass node-pool-gpu -o jsonpath=\'{.scheduling}{"\\n"}\'');

  note('Three workloads. "train" names the RuntimeClass, "web" none, and "agent" is to be on every node.');
  await run('cat train.yaml');
  await run('kubectl apply -f train.yaml -f web.yaml -f agent.yaml');
  await run('kubectl rollout status daemonset agent --timeout=60s');
  await showPods(run);

  note('The node "spare" moves to the GPU pool: its label changes, the controller does the rest.');
  await run(
    'kubectl label node spare node-role.kubernetes.io/worker- node-restriction.kubernetes.io/accelerator=nvidia',
  );
  await run("kubectl wait npool/gpu --for=jsonpath='{.status.nodeCount}'=2 --timeout=60s");
  note('New pods of "train" follow. What runs there already is left alone: the taint is NoSchedule.');
  await run('kubectl scale deployment train --replicas=4');
  await showPods(run);

  note(
    'A NoExecute taint evicts what does not tolerate it: "web" leaves "spare", "agent" stays.\n# Pods of "train" are recreated, as a pod gets the tolerations of its RuntimeClass when it is created.',
  );
  await run('kubectl nodepool edit gpu --taint maintenance=now:NoExecute --yes');
  await run('kubectl wait pods -l app=web --field-selector spec.nodeName=spare --for=delete --timeout=60s');
  await showPods(run);

  note('The pool is deleted: the controller releases its nodes and takes its RuntimeClass away.');
  await run('kubectl delete npool gpu');
  await run('kubectl get runtimeclass');
  await run("kubectl get nodes -o custom-columns='NAME:.metadata.name,TAINTS:.spec.taints[*].key'");
  note('What happened, as events.');
  await run('kubectl nodepool events');
}

async function showPods(run: Shell['run']): Promise<void> {
  await run('kubectl rollout status deployment --timeout=60s');
  await run('kubectl get pods -o wide');
}
