/** What may keep a pod from being scheduled and is not judged, limited to what applies to this pod. */
import type { RawPod, RawPodSpec } from './pod/raw-pod.ts';
import type { Snapshot } from './snapshot.ts';
import { namesCopiedLabels } from './spread/replicas.ts';
import type { PodTraits } from './types.ts';
import type { Storage } from './volumes/storage.ts';
import { defaultClass, hasProvisioner } from './volumes/volumes.ts';

export interface ClusterFacts {
  /** Whether the labels of namespaces were read. */
  namespaces: boolean;
  /** Extended resources that some node offers. */
  offered: ReadonlySet<string>;
  /** Extended resources that a DeviceClass provides. */
  classes?: ReadonlySet<string>;
  storage?: Storage;
}

/** Preemption is not considered: it is unknown which pods would be preempted for a pod of higher priority. */
export const PREEMPTION = 'preemption';

const VOLUME_LIMITS = 'volume limits of nodes and free storage (CSINode, CSIStorageCapacity)';

const COPIED_LABELS = 'the labels of zone and region that the server copies to placed pods from 1.35 on';

export const UNREAD_NAMESPACES = 'namespaceSelector: the labels of namespaces cannot be read';

// Shared, because most of 50,000 pods on nodes have none.
const NONE: readonly string[] = [];

/** What depends on the pod alone. Sentences without a full stop, such as "limits of volumes a node". */
export function podNotJudged(spec: RawPodSpec): readonly string[] {
  const texts: string[] = [];
  const { schedulerName = '', volumes = [] } = spec;
  if (schedulerName !== '' && schedulerName !== 'default-scheduler') {
    texts.push(`the scheduler ${schedulerName} (evaluated by the rules of the default scheduler)`);
  }
  if ((spec.resourceClaims ?? []).length > 0) texts.push('resourceClaims (dynamic resource allocation)');
  if (spec.schedulingGroup !== undefined && spec.schedulingGroup !== null) {
    texts.push('schedulingGroup (gang scheduling): the pods of the group are evaluated one by one');
  }
  if (volumes.some(each => each.persistentVolumeClaim || each.ephemeral || each.csi)) texts.push(VOLUME_LIMITS);
  return texts.length === 0 ? NONE : texts;
}

/** Sentences like those of podNotJudged(). */
export function notJudged(
  { metadata = {}, spec = {} }: RawPod,
  { namespaces, offered, classes, storage }: ClusterFacts,
): string[] {
  const texts = [...podNotJudged(spec)];
  const { affinity } = spec;
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const requested = containers.flatMap(({ resources = {} }) =>
    Object.keys({ ...resources.limits, ...resources.requests }),
  );
  const isByClass = (name: string) => name.includes('/') && (!offered.has(name) || classes?.has(name) === true);
  const unknown = [...new Set(requested.filter(isByClass))];
  if (unknown.length > 0)
    texts.push(`whether a DeviceClass provides ${unknown.join(', ')} (dynamic resource allocation)`);
  for (const { name = '', ephemeral } of spec.volumes ?? []) {
    const className =
      ephemeral?.volumeClaimTemplate?.spec?.storageClassName ?? (storage && defaultClass(storage)) ?? '';
    const storageClass = storage?.classes.get(className);
    if (ephemeral === undefined || storage === undefined || storageClass?.waits) continue;
    const why =
      className === '' ? 'it names no StorageClass' : `its StorageClass ${className} does not wait for the pod`;
    if (hasProvisioner(storageClass)) texts.push(`the future zone of the volume of ${name}: ${why}`);
    else if ([...storage.volumes.values()].some(volume => volume.className === className && volume.nodeTerms))
      texts.push(`which existing volume ${name} gets: ${why}`);
  }
  const bound = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => {
    const claim = storage?.claims.get(`${metadata.namespace}/${persistentVolumeClaim?.claimName}`);
    return storage?.volumes.get(claim?.volumeName ?? '')?.migrated ?? [];
  });
  for (const field of new Set(bound)) texts.push(`the zones of the CSI driver that serves its ${field}`);
  if (needsFeatures(spec)) texts.push('node features that the pod needs (NodeDeclaredFeatures)');
  const terms = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap(
    each => each?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
  );
  if (!namespaces && terms.some(({ namespaceSelector }) => namespaceSelector !== undefined)) {
    texts.push(UNREAD_NAMESPACES);
  }
  return texts;
}

/** Sentences for a running pod that is created again. @param classes extended resources that a DeviceClass provides */
export function notJudgedFinder(
  { nodes, storage }: Pick<Snapshot, 'nodes' | 'storage'>,
  classes: Iterable<string>,
): (pod: PodTraits) => readonly string[] {
  const offered = new Set([...nodes.values()].flatMap(({ allocatable }) => [...allocatable.keys()]));
  const known = storage.classes.size === 0 ? {} : { storage };
  const facts = { namespaces: true, offered, classes: new Set(classes), ...known };
  return pod => {
    const isPlain = pod.claims.length === 0 && !hasExtendedResource(pod);
    const copied = namesCopiedLabels(pod) ? [COPIED_LABELS] : NONE;
    if (isPlain) return copied.length === 0 ? pod.notJudged : [...pod.notJudged, ...copied];
    return [...new Set([...pod.notJudged, ...notJudged(rawOf(pod), facts), ...copied])];
  };
}

function hasExtendedResource({ requests }: PodTraits): boolean {
  for (const name of requests.keys()) if (name.includes('/')) return true;
  return false;
}

/** The fields of the pod that were read. */
function rawOf({ namespace, requests, claims }: PodTraits): RawPod {
  const amounts = Object.fromEntries([...requests.keys()].map(name => [name, '1']));
  const volumes = claims.map(({ name, template }) =>
    template === undefined
      ? { name, persistentVolumeClaim: { claimName: name } }
      : { name, ephemeral: { volumeClaimTemplate: { spec: template } } },
  );
  return { metadata: { namespace }, spec: { containers: [{ resources: { requests: amounts } }], volumes } };
}

/** See InferForScheduling of the features in k8s.io/component-helpers/nodedeclaredfeatures 1.36. */
function needsFeatures({ containers = [], initContainers = [], hostNetwork, hostUsers }: RawPodSpec): boolean {
  const restartsAll = [...containers, ...initContainers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
  return restartsAll || (hostNetwork === true && hostUsers === false);
}

/** @param textsOf from notJudgedFinder() */
export function byNotJudged<P>(pods: readonly P[], textsOf: (pod: P) => readonly string[]): Map<string, P[]> {
  const found = new Map<string, P[]>();
  for (const each of pods) {
    for (const text of textsOf(each)) {
      const group = found.get(text);
      if (group === undefined) found.set(text, [each]);
      else group.push(each);
    }
  }
  return found;
}
