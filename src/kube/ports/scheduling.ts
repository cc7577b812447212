/** Reads what decides on the scheduling of pods. src/kube implements it. */
import type { RawPod } from '../../scheduling/pod/raw-pod.ts';
import type { CountedPod } from '../../scheduling/snapshot.ts';
import type { Storage } from '../../scheduling/volumes/storage.ts';

/** What is read of pods on nodes, beside what every pod takes of its node. */
export interface PodFields {
  /** For topology spread and pod (anti-)affinity of other pods. */
  labels: boolean;
  /** What decides where the pod itself can be scheduled. */
  placement: boolean;
  /** The controller that recreates the pod, and the label by which a Deployment is known. */
  owners?: boolean;
  /** The three of pods on these nodes, and of pods without a controller or with that of a custom resource, alone. Default: of every pod. */
  only?: (node: string) => boolean;
}

export interface LabelledPod extends CountedPod {
  node: string;
}

/** `refused`: by admission, a quota or validation. `unknown`: the user may not ask, or the server could not answer. */
export type Rehearsal =
  | { kind: 'created'; pod: RawPod }
  | { kind: 'refused'; reason: string; isInvalid: boolean; fields: { field: string; message: string }[] }
  | { kind: 'unknown'; reason: string };

export interface SchedulingPort {
  /** The namespace of the kubeconfig's context. */
  namespace: string;
  /**
   * Every pod that is on a node and has not ended, once; without fields that were not asked for.
   * @param startOver is called when the list starts again: what came before it does not count
   */
  placedPods(fields: PodFields, onPod: (pod: RawPod) => void, startOver: () => void): Promise<void>;
  /** As placedPods(), without what they take of their nodes. */
  placedLabels(onPod: (pod: LabelledPod) => void, startOver: () => void): Promise<void>;
  /** Undefined: there is none. */
  pod(namespace: string, name: string): Promise<RawPod | undefined>;
  /** A pod as the server would create it; a dry run. */
  rehearse(namespace: string, pod: RawPod): Promise<Rehearsal>;
  /** Labels of each namespace. */
  namespaces(): Promise<ReadonlyMap<string, Record<string, string>>>;
  /** All claims of these namespaces, and all volumes. */
  boundVolumes(namespaces: ReadonlySet<string>): Promise<Pick<Storage, 'claims' | 'volumes'>>;
  /** As boundVolumes(), and all classes. */
  storage(namespaces: ReadonlySet<string>): Promise<Storage>;
}
