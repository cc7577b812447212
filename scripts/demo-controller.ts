/** How `npm run demo -- --full` runs the controller: in pods of a real node, or else as a process of this machine. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../test/cluster/control-plane.ts';
import { PAUSE_IMAGE } from '../test/cluster/node/config.ts';
import { importController } from '../test/cluster/node/controller-image.ts';
import { type RealNode, startNode } from '../test/cluster/node/start.ts';
import type { NodeSpec } from '../test/cluster/nodes.ts';
import { raw } from '../test/cluster/raw.ts';
import { note, type Shell } from './demo-shell.ts';

const NAMESPACE = 'nodepool-system';

/** Starts the node with its labels and taints. */
export async function startRealNode(cluster: ControlPlane, { name, labels, taints }: NodeSpec): Promise<RealNode> {
  // A kubelet may not give its node the label of a role.
  await raw(cluster).expect('POST', '/api/v1/nodes', { metadata: { name, labels }, spec: { taints } });
  return startNode(cluster, name);
}

/** Gives the node the image of the controller, and something that runs as the image of the workload. */
export async function importImages(node: RealNode, workloadImage: string): Promise<void> {
  await importController([node]);
  await node.tagImage(PAUSE_IMAGE, workloadImage);
}

/** Plays the story while the controller runs in the pods that `install --controller` gives it. */
export async function besidePods(
  { run, dir }: Shell,
  cluster: ControlPlane,
  node: RealNode,
  story: () => Promise<void>,
): Promise<void> {
  note(`A controller in the cluster keeps the pools. ${node.name} is a real node: kubelet, containerd and runc.`);
  await run('kubectl nodepool install --controller');
  await run(`kubectl -n ${NAMESPACE} rollout status deployment nodepool-controller --timeout=120s`);
  await run(`kubectl -n ${NAMESPACE} get pods -o wide`);
  await story();
  const { spec } = (await raw(cluster).expect(
    'GET',
    `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/kubectl-nodepool`,
  )) as { spec: { holderIdentity: string } };
  const [leader = ''] = spec.holderIdentity.split('_');
  await writeFile(join(dir, `${leader}.log`), await node.logs(leader));
  note('The log of the leader, from the disk of the node: the API server cannot reach this kubelet for kubectl logs.');
  await run(`cat ${leader}.log`);
  note('The controller is removed; pools and nodes stay as they are.');
  await run('kubectl nodepool uninstall --controller --yes');
  await run(`kubectl wait namespace/${NAMESPACE} --for=delete --timeout=120s`);
}

/** Plays the story while `reconcile --watch` runs. */
export async function besideProcess({ run, start }: Shell, story: () => Promise<void>): Promise<void> {
  note('From here on a controller keeps the pools.');
  const stop = start('kubectl nodepool reconcile --watch 2> controller.log');
  try {
    await story();
    note('The log of the controller.');
    await run('cat controller.log');
  } finally {
    await stop();
  }
}
