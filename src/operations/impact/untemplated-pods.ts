/** Pods whose template is not read, as they have no controller or that of a custom resource: what they ask of nodes, by owner. */
import { keysOfPod } from '../../scheduling/impact/selecting.ts';
import type { Owner, Selecting } from '../../scheduling/impact/types.ts';
import type { PodParts } from '../../scheduling/pod-parts.ts';
import type { RawPodSpec } from '../../scheduling/raw-pod.ts';
import type { Pod } from '../../scheduling/types.ts';

export class UntemplatedPods {
  readonly #found = new Map<string, Selecting>();
  readonly #parts: PodParts;

  /** @param parts that the placements are shared in */
  constructor(parts: PodParts) {
    this.#parts = parts;
  }

  add(pod: Pod, owner: Owner | undefined): void {
    const { namespace, name, placement } = pod;
    const keys = keysOfPod(owner === undefined ? placedBy(pod) : { ...placedBy(pod), ...topologyOf(pod) });
    if (keys.size === 0) return;
    const of = { kind: 'Pod', name, ...owner, namespace };
    // A pod that is made for one node says nothing about others of its owner; one without owner is not created again.
    const isAlike = owner !== undefined && !placement.nodeTerms?.some(({ matchFields }) => matchFields !== undefined);
    const shared = isAlike ? this.#parts.first(placement.recreated ?? placement) : undefined;
    const id = JSON.stringify([of.kind, namespace, of.name, [...keys], shared && this.#parts.id(shared)]);
    if (!this.#found.has(id)) this.#found.set(id, { ...of, keys, ...(shared && { placement: shared }) });
  }

  /** One for each owner and way to ask. */
  selecting(): Selecting[] {
    return [...this.#found.values()];
  }
}

function placedBy({ placement: { nodeSelector, nodeTerms } }: Pod): RawPodSpec {
  if (nodeTerms === undefined) return { nodeSelector };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...nodeTerms] } };
  return { nodeSelector, affinity: { nodeAffinity: required } };
}

function topologyOf(pod: Pod): RawPodSpec {
  const terms = (of: Pod['affinity']) => ({
    requiredDuringSchedulingIgnoredDuringExecution: of.map(({ topologyKey }) => ({ topologyKey })),
  });
  return {
    topologySpreadConstraints: pod.spread.map(({ topologyKey }) => ({ topologyKey })),
    affinity: {
      ...placedBy(pod).affinity,
      podAffinity: terms(pod.affinity),
      podAntiAffinity: terms(pod.antiAffinity),
    },
  };
}
