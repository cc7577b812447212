/** Pods that go on running where the scheduler would not put them again: where it would put them instead. */
import type { Snapshot } from '../snapshot.ts';
import { destinationOf, isInOrder, placeAgain } from './destinations.ts';
import { isScheduled } from './leaving-pods.ts';
import { OpenNodes } from './open-nodes.ts';
import { groupsOf } from './summary.ts';
import type { RunningPod, StrandedPods } from './types.ts';

/**
 * As if all of them were recreated at once.
 * @param snapshot after the change, without evicted pods; they are moved in it
 * @param parallel see isInOrder()
 */
export function placeStranded(
  stranded: readonly RunningPod[],
  snapshot: Snapshot,
  parallel: ReadonlySet<string>,
): StrandedPods[] {
  const moving = stranded.filter(isScheduled);
  for (const { pod, node } of moving) snapshot.remove(pod, node);
  const open = new OpenNodes(snapshot);
  return groupsOf(stranded).map(({ impact, group }): StrandedPods => {
    const pods = group.filter(isScheduled);
    return {
      ...impact,
      next:
        pods.length === 0 ? undefined : destinationOf(placeAgain(pods, snapshot, open, isInOrder(impact, parallel))),
    };
  });
}
