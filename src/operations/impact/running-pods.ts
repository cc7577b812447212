/** The pods on nodes, with the controllers that recreate them. */
import { quantityReader } from '../../nodepool/amounts.ts';
import { controllerOf, TEMPLATE_HASH } from '../../nodepool/runtime-class-users.ts';
import type { Owner, RunningPod } from '../../scheduling/impact/types.ts';
import type { RawPod } from '../../scheduling/raw-pod.ts';
import { readPlacedPod } from '../../scheduling/read-pod.ts';
import type { SchedulingPort } from '../scheduling-port.ts';

export interface RunningPods {
  pods: RunningPod[];
  /** Pods whose amounts cannot be read; each a sentence. */
  problems: string[];
}

/** Reads every pod that is on a node and has not ended. */
export async function readRunningPods(port: SchedulingPort): Promise<RunningPods> {
  const read = quantityReader();
  const found: RunningPods = { pods: [], problems: [] };
  const add = (raw: RawPod) => {
    const pod = readPlacedPod(raw, read, problem => void found.problems.push(problem));
    found.pods.push({ pod, node: pod.nodeName ?? '', owner: ownerOf(raw) });
  };
  await port.placedPods({ labels: true, placement: true, owners: true }, add, () => {
    found.pods.length = 0;
    found.problems.length = 0;
  });
  return found;
}

function ownerOf({ metadata: { name = '', labels, ownerReferences } = {} }: RawPod): Owner | undefined {
  const reference = ownerReferences?.find(({ controller }) => controller);
  if (reference === undefined) return undefined;
  const controller = { kind: reference.kind ?? '', name: reference.name ?? '' };
  return controllerOf({ name, controller, templateHash: labels?.[TEMPLATE_HASH] });
}
