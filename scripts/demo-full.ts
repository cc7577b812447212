/** `npm run demo -- --full`: on which nodes pods run, while a controller reconciles the pools. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { note, type Shell } from './demo-shell.ts';
import { type Workload, workload } from './workload.ts';

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

interface FullStory {
  shell: Shell;
  /** The working directory of the shell. */
  dir: string;
  /** Starts kube-controller-manager, the scheduler and the kubelets. */
  startControllers(): Promise<void>;
  /** Whether the CRD stays in the cluster. */
  keep: boolean;
}

export async function playFull({ shell, dir, startControllers, keep }: FullStory): Promise<void> {
  const { run } = shell;
  for (const one of WORKLOADS) await writeFile(join(dir, `${one.name}.yaml`), workload(one));

  note('Teach the cluster what a NodePool is.');
  await run('kubectl nodepool install');
  console.log();
  // After the CRD: the garbage collector discovers new kinds only every 30 s.
  await startControllers();
  note('From here on a controller keeps the pools.');
  const stop = shell.start('kubectl nodepool reconcile --watch 2> controller.log');
  try {
    await whileItRuns(run);
  } finally {
    await stop();
  }
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
  await run("kubectl wait nodepool --all --for=jsonpath='{.status.status}'=200 --timeout=60s");
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
  await run("kubectl wait nodepool/gpu --for=jsonpath='{.status.nodeCount}'=2 --timeout=60s");
  note('New pods of "train" follow. What runs there already is left alone: the taint is NoSchedule.');
  await run('kubectl scale deployment train --replicas=4');
  await showPods(run);

  note('A NoExecute taint evicts what does not tolerate it: "web" leaves "spare", "agent" stays.');
  note('"train" is restarted once: a pod gets the tolerations of its RuntimeClass when it is created.');
  await run('kubectl nodepool edit gpu --taint maintenance=now:NoExecute');
  await run('kubectl wait pods -l app=web --field-selector spec.nodeName=spare --for=delete --timeout=60s');
  await showPods(run);

  note('The pool is deleted: the controller releases its nodes and takes its RuntimeClass away.');
  await run('kubectl delete npool gpu');
  await run('kubectl get runtimeclass');
  await run("kubectl get nodes -o custom-columns='NAME:.metadata.name,TAINTS:.spec.taints[*].key'");
  note('What happened, as events, and in the log of the controller.');
  await run('kubectl nodepool events');
  await run('cat controller.log');
}

async function showPods(run: Shell['run']): Promise<void> {
  await run('kubectl rollout status deployment --timeout=60s');
  await run('kubectl get pods -o wide');
}
