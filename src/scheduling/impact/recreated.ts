/**
 * Pods of a RuntimeClass that changes. Admission adds its node selector and tolerations to a pod when that is created: pods that
 * run keep what it had then, and the pods that are created in their stead get what it has after the change.
 *
 * Not known: what is in the pod's template. What the RuntimeClass has as well, and a label that the pod's node has not, are taken
 * for the RuntimeClass's, now or earlier.
 */

import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import { own } from '../../nodepool/json.ts';
import type { SchedulingChange } from '../../nodepool/plan/runtime-class.ts';
import type { Node, Toleration } from '../../nodepool/types.ts';
import type { PodTraits, RunningPlacement } from '../types.ts';

/** @param node before the change */
type Recreate = (
  placement: PodPlacement,
  node: Pick<Node, 'labels'>,
  runtimeClass: string | undefined,
) => RunningPlacement;

/** Finds `recreated` once for pods whose placement is one object. @param classes by name */
export function recreations(classes: ReadonlyMap<string, SchedulingChange>): Recreate {
  const byClass = new Map([...classes].map(([name, change]) => [name, new Recreations(change)]));
  return (placement, node, runtimeClass = '') => byClass.get(runtimeClass)?.of(placement, node) ?? placement;
}

export function recreatedPod(pod: PodTraits): PodTraits {
  const { recreated } = pod.placement;
  return recreated === undefined ? pod : { ...pod, placement: recreated };
}

/** Of one RuntimeClass. */
class Recreations {
  readonly #change: SchedulingChange;
  /** By the part of the node selector that stays. */
  readonly #known = new WeakMap<PodPlacement, Map<string, RunningPlacement>>();

  constructor(change: SchedulingChange) {
    this.#change = change;
  }

  of(placement: PodPlacement, { labels }: Pick<Node, 'labels'>): RunningPlacement {
    const { nodeSelector: had = {} } = this.#change.before;
    const isOwn = ([key, value]: [string, string]) => own(had, key) !== value && own(labels, key) === value;
    const selector = Object.entries(placement.nodeSelector).filter(isOwn);
    const known = this.#known.get(placement) ?? new Map<string, RunningPlacement>();
    this.#known.set(placement, known);
    const text = selector.join();
    const made = known.get(text) ?? { ...placement, recreated: this.#recreate(placement, selector) };
    known.set(text, made);
    return made;
  }

  #recreate({ nodeTerms, tolerations }: PodPlacement, selector: [string, string][]): PodPlacement {
    const { before, after } = this.#change;
    const [had, gets] = [before.tolerations ?? [], after.tolerations ?? []];
    const isOwn = (each: Toleration) =>
      !had.some(other => isSame(each, other)) && !gets.some(other => isSameButTime(each, other));
    return {
      nodeSelector: { ...Object.fromEntries(selector), ...after.nodeSelector },
      nodeTerms,
      // In this order, and without those that the RuntimeClass has for ever, as admission merges them.
      tolerations: [...tolerations.filter(isOwn), ...gets],
    };
  }
}

function isSame(a: Toleration, b: Toleration): boolean {
  return isSameButTime(a, b) && a.tolerationSeconds === b.tolerationSeconds;
}

function isSameButTime(a: Toleration, b: Toleration): boolean {
  const text = ({ key = '', operator = '', value = '', effect = '' }: Toleration) =>
    [key, operator, value, effect].join();
  return text(a) === text(b);
}
