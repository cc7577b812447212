/** States of minutes that other software marks on nodes: they are in the model, and no pool may strip, adopt or restore them. */
import type { Taint } from '../../src/nodepool/types.ts';
import { setReady } from '../cluster/nodes.ts';
import { type Model, taintId } from './model.ts';
import type { Random } from './random.ts';

/** Cilium sets it until its agent runs. */
export const AGENT_TAINT: Taint = { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' };
/** Cluster Autoscaler sets it before it removes the machine. */
const REMOVAL_TAINT: Taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1760000000', effect: 'NoSchedule' };
/** NVIDIA's operator reports the step of a driver upgrade. */
export const UPGRADE_LABEL = 'nvidia.com/gpu-driver-upgrade-state';
const UPGRADE_STEPS = ['upgrade-required', 'pod-restart-required', 'upgrade-done'];

/** Such labels and taints, by key. */
export const isOfOtherSoftware = (key: string) => [AGENT_TAINT.key, REMOVAL_TAINT.key, UPGRADE_LABEL].includes(key);

/** An agent stops, or is ready again. */
export async function toggleAgent(model: Model, node: string): Promise<string> {
  const id = taintId(AGENT_TAINT);
  const has = model.nodes.get(node)?.taints.some(taint => taintId(taint) === id);
  await (has ? model.untaint(node, id) : model.taint(node, AGENT_TAINT));
  return `agent of ${node} ${has ? 'runs' : 'stops'}`;
}

export async function upgradeDriver(model: Model, node: string, random: Random): Promise<string> {
  const step = UPGRADE_STEPS[Math.floor(random() * (UPGRADE_STEPS.length + 1))] ?? null;
  await model.label(node, { [UPGRADE_LABEL]: step });
  return `driver of ${node}: ${step}`;
}

/** An autoscaler, or the cloud, takes the machine: it marks the node, which then stops. Whoever calls this deletes the node. */
export async function reclaim(model: Model, node: string): Promise<string> {
  await model.taint(node, REMOVAL_TAINT);
  await setReady(model.cluster, node, false);
  return `reclaim ${node}`;
}
