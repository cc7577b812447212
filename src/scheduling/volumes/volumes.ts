/**
 * Claims of a pod, and the nodes where their volumes are or can be (volumebinding, volumezone and the claims of
 * volumerestrictions of kube-scheduler).
 *
 * Not judged: volume limits per node, free storage capacity (CSIStorageCapacity), and in-tree volumes served by CSI
 * drivers, whose zone labels are used as they are.
 */
import { ownValue } from '../../nodepool/json.ts';
import { matchesQuery } from '../../nodepool/membership/label-query.ts';
import { compareQuantities } from '../../nodepool/quantity/quantity.ts';
import { noun, plural } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import type { RawVolume } from '../pod/raw-pod.ts';
import type { Snapshot } from '../snapshot.ts';
import type { ClaimUse, PodTraits, UnfitReason } from '../types.ts';
import { type Claim, NO_STORAGE, readClaim, type Storage, type StorageClass, type Volume } from './storage.ts';
import { isReachable, isWithin, NodesByLabel, otherZone, VolumesByNode, zonesOf } from './volume-places.ts';

export { isWithin, zonesOf } from './volume-places.ts';

/** Maximum nodes of a volume that are named. */
const SHOWN_NODES = 3;

const NONE: readonly ClaimUse[] = [];
const NOWHERE = { labels: {} };
/** What a claim is bound to on a node: a volume, or a new one of its class. */
type Binding = Volume | 'new';

export function claimsOf(volumes: readonly RawVolume[] | undefined): readonly ClaimUse[] {
  let claims: ClaimUse[] | undefined;
  for (const { name = '', persistentVolumeClaim, ephemeral } of volumes ?? []) {
    if (persistentVolumeClaim === undefined && ephemeral === undefined) continue;
    claims ??= [];
    if (persistentVolumeClaim) claims.push({ name: persistentVolumeClaim.claimName ?? '', template: undefined });
    else claims.push({ name, template: ephemeral?.volumeClaimTemplate?.spec ?? {} });
  }
  return claims ?? NONE;
}

/** Problems that concern every node are found first: see `refusal`. */
export class PodVolumes {
  /** Set if no node takes the pod. */
  readonly refusal: UnfitReason | undefined;
  readonly #storage: Storage;
  readonly #nodes: Snapshot['nodes'];
  /** For a bound volume, where it is. */
  readonly #places = new Map<string, string>();
  readonly #bound: Volume[] = [];
  readonly #waiting: WaitingClaim[] = [];
  /** A ReadWriteOncePod claim that is in use. */
  readonly #usedClaim: string | undefined;
  readonly #suitableOf = new Map<WaitingClaim, SuitableVolumes>();
  #nodesByLabel: NodesByLabel | undefined;
  /** By placed pods. */
  readonly #taken: Set<string>;
  /** Where the first replica has a claim's volume created: only the provisioner knows which other nodes reach it. */
  #madeOn: string | undefined;

  constructor(pod: PodTraits, snapshot: Snapshot) {
    const { storage } = snapshot;
    this.#storage = storage;
    this.#nodes = snapshot.nodes;
    this.#taken = new Set(snapshot.takenVolumes);
    const claims = pod.claims.map((use): NamedClaim => ({ use, claim: claimOf(pod, use, storage) }));
    const words = firstProblem(claims, storage, this.#taken);
    this.refusal = words === undefined ? undefined : { rule: 'claims', words };
    if (this.refusal !== undefined) return;
    for (const { use, claim } of claims) {
      if (claim === undefined) continue;
      if (claim.isBound) this.#addBound(claim);
      else this.#waiting.push({ use, claim });
      if (use.template !== undefined) continue;
      const key = `${claim.namespace}/${claim.name}`;
      if (claim.accessModes.includes('ReadWriteOncePod') && snapshot.isClaimUsed(key)) this.#usedClaim = claim.name;
    }
  }

  /** For a pod with spec.nodeName: nobody provisions a volume, or binds one, without a node that the scheduler chose. */
  get refusalWithoutScheduler(): UnfitReason | undefined {
    const isLeft = ({ claim }: WaitingClaim) =>
      claim.selectedNode === undefined && this.#storage.classes.get(claim.className)?.waits;
    if (!this.#waiting.some(isLeft)) return undefined;
    return { rule: 'claims', words: 'no scheduler chooses the node of its unbound PersistentVolumeClaims' };
  }

  /** Whether a placed pod affects the next one of its kind: it binds their claim, or takes a volume. */
  get isSelfMatching(): boolean {
    return this.#waiting.some(({ use, claim }) => use.template === undefined || !this.#isMade(claim));
  }

  /** Names of the volumes that placed replicas have taken. */
  get taken(): Iterable<string> {
    return this.#taken;
  }

  /** Binds the claims of one more replica on a node that takes it. */
  place(node: Node): void {
    const bindings = this.#bind(node, this.#taken);
    if ('unmet' in bindings) return;
    for (const [{ use, claim }, binding] of bindings.found) {
      if (binding !== 'new') this.#taken.add(binding.name);
      if (use.template !== undefined) continue;
      if (binding === 'new') this.#madeOn = node.name;
      else this.#bound.push(binding);
      this.#waiting.splice(
        this.#waiting.findIndex(other => other.claim === claim),
        1,
      );
    }
  }

  /**
   * Where further replicas can go once the first one, on this node, has bound the shared claims. Undefined: anywhere.
   * `nodes`: all that may reach the volumes; undefined: all. `isUnsure`: perhaps no other node reaches them.
   */
  boundOn(node: Node): SharedBinding | undefined {
    const bindings = this.#bind(node, this.#taken);
    if ('unmet' in bindings) return undefined;
    const shared = [...bindings.found].flatMap(([{ use }, binding]) => (use.template === undefined ? [binding] : []));
    if (shared.length === 0) return undefined;
    const volumes = shared.filter(binding => binding !== 'new');
    const [first, ...others] = volumes;
    if (first === undefined || volumes.length < shared.length || bindings.isTied)
      return { id: `@${node.name}`, isUnsure: true, nodes: undefined };
    const id = volumes
      .map(({ name }) => name)
      .toSorted()
      .join();
    const nodes = () => this.#nodesReaching(first).filter(other => others.every(volume => isWithin(volume, other)));
    return { id, isUnsure: false, nodes };
  }

  #nodesReaching(volume: Volume): Node[] {
    this.#nodesByLabel ??= new NodesByLabel([...this.#nodes.values()].map(({ node }) => node));
    return this.#nodesByLabel.reaching(volume.nodeTerms).filter(node => otherZone(volume, node) === undefined);
  }

  /** Nodes that share a limited set of volumes, and how many replicas these serve. Undefined: there is no limit. */
  usedUp(nodes: readonly Node[]): VolumeLimits | undefined {
    const own = this.#waiting.filter(({ use, claim }) => use.template !== undefined && !this.#isMade(claim));
    if (own.length === 0) return undefined;
    const groups = new Map<string, string>();
    const limits = new Map<string, number>();
    const users = new Map<string, string>();
    let isShared = false;
    // Nodes that reach the same volumes share a result.
    const known = new Map<string, string>();
    for (const node of nodes) {
      const near = own.map(waiting =>
        canProvision(this.#storage.classes.get(waiting.claim.className), node)
          ? []
          : this.#suitable(waiting).byNode.near(node),
      );
      const id = near.map(parts => parts.map(part => part.id).join()).join(';');
      let group = known.get(id);
      if (group === undefined) {
        const names = near.flat().flatMap(({ volumes }) => volumes.map(({ volume }) => volume.name));
        const open = [...new Set(names.filter(name => !this.#taken.has(name)))].toSorted();
        group = open.join();
        known.set(id, group);
        if (open.length > 0 && !limits.has(group)) {
          limits.set(group, this.#replicasOn(node, own));
          for (const name of open) {
            isShared ||= (users.get(name) ?? group) !== group;
            users.set(name, group);
          }
        }
      }
      if (group !== '') groups.set(node.name, group);
    }
    // The first replica determines which of them a shared claim takes.
    isShared ||= this.#waiting.some(({ use, claim }) => use.template === undefined && !this.#isMade(claim));
    return { groups, limits, isShared, volumes: users.size };
  }

  /**
   * The server binds a claim whose class does not wait before the scheduler sees its pod, to any free volume.
   * Undefined: no such claim, or every volume reaches all of the nodes. `isLost`: perhaps no node reaches a volume.
   */
  usedUpEarly(nodes: readonly Node[]): (VolumeLimits & { isLost: boolean; isOne: boolean }) | undefined {
    const early = this.#waiting.filter(({ claim }) => !this.#storage.classes.get(claim.className)?.waits);
    const used = early.length === 0 ? undefined : this.usedUp(nodes);
    if (used === undefined) return undefined;
    const volumes = early
      .flatMap(waiting => this.#suitable(waiting).volumes)
      .filter(({ name }) => !this.#taken.has(name));
    if (volumes.every(volume => nodes.every(node => isWithin(volume, node)))) return undefined;
    const isLost = volumes.some(
      volume => zonesOf(volume.labels).length > 0 || this.#nodesReaching(volume).length === 0,
    );
    return { ...used, isLost, isOne: this.#waiting.length === 1 };
  }

  /** How many replicas the volumes reachable from the node serve. @param own claims of each replica */
  #replicasOn(node: Node, own: readonly WaitingClaim[]): number {
    const taken = new Set(this.#taken);
    for (let replicas = 0; ; replicas++) {
      const bindings = this.#bind(node, taken, own);
      if ('unmet' in bindings) return replicas;
      const volumes = [...bindings.found.values()].filter(binding => binding !== 'new');
      if (volumes.length === 0) return Infinity;
      for (const { name } of volumes) taken.add(name);
    }
  }

  #suitable(waiting: WaitingClaim): SuitableVolumes {
    const suitable = this.#suitableOf.get(waiting) ?? suitableVolumes(waiting.claim, this.#storage);
    this.#suitableOf.set(waiting, suitable);
    return suitable;
  }

  /** Whether volumes of the claim's class can be created anywhere. */
  #isMade({ className }: Claim): boolean {
    const storageClass = this.#storage.classes.get(className);
    return canProvision(storageClass, NOWHERE) && (storageClass?.allowedTopologies.length ?? 0) === 0;
  }

  /** Names of all nodes that can use its bound volumes; undefined: it has none. */
  get nodes(): string[] | undefined {
    if (this.#bound.length === 0) return undefined;
    return this.#where(node => this.#bound.every(volume => isWithin(volume, node)));
  }

  judgeUse(): UnfitReason | undefined {
    if (this.#usedClaim === undefined) return undefined;
    const words =
      'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod';
    return { rule: 'claimInUse', words, detail: `claim ${this.#usedClaim}` };
  }

  judge(node: Node): UnfitReason[] {
    const reasons: UnfitReason[] = [];
    const add = (words: string, detail: string) => reasons.push({ rule: 'volumes', words, detail });
    if (this.#madeOn !== undefined && this.#madeOn !== node.name) {
      add(
        "node(s) didn't match PersistentVolume's node affinity",
        `the volume is being created on node ${this.#madeOn}`,
      );
    }
    const elsewhere = this.#bound.find(({ nodeTerms }) => !isReachable(nodeTerms, node));
    if (elsewhere !== undefined) {
      add("node(s) didn't match PersistentVolume's node affinity", this.#placeOf(elsewhere));
    }
    const bindings = this.#bind(node, this.#taken);
    if ('unmet' in bindings) {
      const { unmet } = bindings;
      const detail = `claim ${unmet.template === undefined ? '' : 'of volume '}${unmet.name}`;
      add("node(s) didn't find available persistent volumes to bind", detail);
    }
    return reasons;
  }

  judgeZone(node: Node): UnfitReason | undefined {
    for (const volume of this.#bound) {
      const zone = otherZone(volume, node);
      if (zone === undefined) continue;
      const detail = `volume ${volume.name} has ${zone}`;
      return { rule: 'volumeZone', words: 'node(s) had no available volume zone', detail };
    }
    return undefined;
  }

  #placeOf({ name, nodeTerms }: Volume): string {
    let place = this.#places.get(name);
    if (place === undefined) {
      const nodes = this.#where(node => isReachable(nodeTerms, node));
      const on =
        nodes.length > SHOWN_NODES
          ? plural(nodes.length, 'other node')
          : `${noun(nodes.length, 'node')} ${nodes.join(', ')}`;
      place = `volume ${name} is ${nodes.length === 0 ? 'elsewhere' : `on ${on}`}`;
      this.#places.set(name, place);
    }
    return place;
  }

  #where(has: (node: Node) => boolean): string[] {
    return [...this.#nodes.values()].flatMap(({ node }) => (has(node) ? [node.name] : []));
  }

  #addBound({ volumeName }: Claim): void {
    const volume = this.#storage.volumes.get(volumeName);
    if (volume !== undefined) this.#bound.push(volume);
  }

  /**
   * `unmet`: a claim for which the node has neither an existing volume nor can get a new one. `isTied`: the scheduler
   * may choose another volume, reachable from other nodes. @param taken volumes
   */
  #bind(
    node: Node,
    taken: ReadonlySet<string>,
    claims: readonly WaitingClaim[] = this.#waiting,
  ): { found: Map<WaitingClaim, Binding>; isTied: boolean } | { unmet: ClaimUse } {
    const found = new Map<WaitingClaim, Binding>();
    const toFind: WaitingClaim[] = [];
    // A volume has one class: if the class can provision on the node, its existing volumes are not searched.
    for (const waiting of claims) {
      const { selectedNode, className } = waiting.claim;
      if (selectedNode !== undefined && selectedNode !== node.name) return { unmet: waiting.use };
      if (canProvision(this.#storage.classes.get(className), node)) found.set(waiting, 'new');
      else if (selectedNode !== undefined) return { unmet: waiting.use };
      else toFind.push(waiting);
    }
    const ofPod = new Set<string>();
    let isTied = false;
    // Smallest first, like the scheduler.
    for (const waiting of toFind.toSorted((a, b) => compareQuantities(a.claim.size, b.claim.size))) {
      const chosen = chooseVolume(this.#suitable(waiting), node, name => taken.has(name) || ofPod.has(name));
      if (chosen === undefined) return { unmet: waiting.use };
      ofPod.add(chosen.volume.name);
      found.set(waiting, chosen.volume);
      isTied ||= chosen.isTied;
    }
    return { found, isTied };
  }
}

export interface SharedBinding {
  id: string;
  isUnsure: boolean;
  nodes: (() => readonly Node[]) | undefined;
}

/** Volumes for a waiting claim. */
interface SuitableVolumes {
  volumes: readonly Volume[];
  /** Volumes reserved for the claim. */
  reserved: readonly Volume[];
  byNode: VolumesByNode;
}

export interface VolumeLimits {
  /** By node: nodes in a group reach the same volumes. Nodes without a group need none. */
  groups: ReadonlyMap<string, string>;
  /** Number of replicas, by group. */
  limits: ReadonlyMap<string, number>;
  /** A volume belongs to two groups. */
  isShared: boolean;
  /** Total number of volumes. */
  volumes: number;
}

interface NamedClaim {
  use: ClaimUse;
  claim: Claim | undefined;
}

interface WaitingClaim extends NamedClaim {
  claim: Claim;
}

/** A template gives a new claim, even if the pod gets the same name again: the old claim is deleted with its pod. */
function claimOf({ namespace }: PodTraits, use: ClaimUse, storage: Storage): Claim | undefined {
  if (use.template === undefined) return storage.claims.get(`${namespace}/${use.name}`);
  const { storageClassName = defaultClass(storage), ...template } = use.template;
  const claim = readClaim({ metadata: { namespace }, spec: { ...template, storageClassName } });
  const storageClass = storage.classes.get(claim.className);
  // Only the provisioner of a class that does not wait knows where the volume will be.
  const isUnknown = storage === NO_STORAGE || (hasProvisioner(storageClass) && !storageClass?.waits);
  return isUnknown ? undefined : claim;
}

/**
 * Names of free claims of a StatefulSet whose volumes decide where its replicas run: existing claims, and those that
 * volumes are reserved for. @param prefixes of its claims
 */
export function ownClaims(namespace: string, prefixes: readonly string[], snapshot: Snapshot): string[] {
  const { claims, volumes, classes } = snapshot.storage;
  const isOwn = (name: string) =>
    prefixes.some(prefix => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)));
  const names = [...volumes.values()].flatMap(({ className, nodeTerms, labels, claimRef }) => {
    if (claimRef?.namespace !== namespace || !isOwn(claimRef.name)) return [];
    const isAnywhere =
      nodeTerms === undefined && zonesOf(labels).length === 0 && hasProvisioner(classes.get(className));
    const isGone = claimRef.uid !== '' && claims.get(`${namespace}/${claimRef.name}`)?.uid !== claimRef.uid;
    return isAnywhere || isGone || snapshot.isClaimUsed(`${namespace}/${claimRef.name}`) ? [] : [claimRef.name];
  });
  return [...new Set(names)].toSorted();
}

/** Whether a recreated pod can use its volumes on the node: bound ones, and new ones from templates. */
export function areVolumesReachable(pod: PodTraits, node: Node, storage: Storage): boolean {
  return pod.claims.every(use => {
    const claim = claimOf(pod, use, storage);
    if (use.template === undefined) {
      const volume = storage.volumes.get(claim?.volumeName ?? '');
      return volume === undefined || isWithin(volume, node);
    }
    if (claim === undefined || canProvision(storage.classes.get(claim.className), node)) return true;
    return chooseVolume(suitableVolumes(claim, storage), node, () => false) !== undefined;
  });
}

/** The newest of several, like the server's choice (GetDefaultClass of pkg/volume/util). */
export function defaultClass({ classes }: Storage): string {
  const defaults = [...classes.values()].filter(({ isDefault }) => isDefault);
  const isFirst = (a: StorageClass, b: StorageClass) =>
    a.created === b.created ? a.name < b.name : a.created > b.created;
  const [newest] = defaults.toSorted((a, b) => (isFirst(a, b) ? -1 : 1));
  return newest?.name ?? '';
}

/** In the order of the scheduler's plugins. */
function firstProblem(claims: readonly NamedClaim[], storage: Storage, taken: ReadonlySet<string>): string | undefined {
  const named = claims.filter(({ use }) => use.template === undefined);
  for (const { use, claim } of named) if (claim === undefined) return `persistentvolumeclaim "${use.name}" not found`;
  for (const { claim } of named) {
    if (claim === undefined) continue;
    const what = `persistentvolumeclaim "${claim.name}"`;
    if (claim.phase === 'Lost') return `${what} bound to non-existent persistentvolume "${claim.volumeName}"`;
    if (claim.isDeleting) return `${what} is being deleted`;
  }
  const isImmediate = ({ claim }: NamedClaim) =>
    claim !== undefined && !claim.isBound && !(storage.classes.get(claim.className)?.waits && claim.volumeName === '');
  const isStuck = ({ use, claim }: NamedClaim) =>
    use.template !== undefined &&
    claim !== undefined &&
    !storage.classes.get(claim.className)?.waits &&
    suitableVolumes(claim, storage).volumes.every(({ name }) => taken.has(name));
  if (named.some(isImmediate) || claims.some(isStuck)) return 'pod has unbound immediate PersistentVolumeClaims';
  for (const { claim } of named) {
    const name = claim?.volumeName ?? '';
    if (name !== '' && !storage.volumes.has(name)) return `persistentvolume "${name}" not found`;
  }
  return undefined;
}

export function hasProvisioner({ provisioner }: Pick<StorageClass, 'provisioner'> = { provisioner: '' }): boolean {
  return provisioner !== '' && provisioner !== 'kubernetes.io/no-provisioner';
}

function canProvision(storageClass: StorageClass | undefined, { labels }: Pick<Node, 'labels'>): boolean {
  const { allowedTopologies = [] } = storageClass ?? {};
  if (!hasProvisioner(storageClass)) return false;
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(
    term => term.length > 0 && term.every(({ key, values }) => values.includes(ownValue(labels, key) ?? '\0')),
  );
}

// Which volume a claim is bound to on a node (FindMatchingVolume of k8s.io/component-helpers/storage/volume).

/**
 * The volume reserved for the claim, else the smallest. `isTied`: another volume is equally small, but reachable from
 * other nodes. The scheduler has no order for those. @param isTaken by other claims
 */
function chooseVolume(
  { reserved, byNode }: SuitableVolumes,
  node: Node,
  isTaken: (name: string) => boolean,
): { volume: Volume; isTied: boolean } | undefined {
  const own = reserved.find(({ name }) => !isTaken(name));
  if (own !== undefined) return isReachable(own.nodeTerms, node) ? { volume: own, isTied: false } : undefined;
  let smallest: { volume: Volume; at: number } | undefined;
  let isTied = false;
  for (const { volumes } of byNode.near(node)) {
    const first = volumes.find(({ volume }) => !isTaken(volume.name));
    if (first === undefined) continue;
    const order = smallest === undefined ? 1 : compareQuantities(smallest.volume.size, first.volume.size);
    if (order !== 0) isTied = order < 0 && isTied;
    else isTied = true;
    if (smallest === undefined || order > 0 || (order === 0 && first.at < smallest.at)) smallest = first;
  }
  return smallest && { volume: smallest.volume, isTied };
}

const known = new WeakMap<Storage['volumes'], Map<string, SuitableVolumes>>();

/** Computed once for equal claims, such as those of all pods of a template. */
function suitableVolumes(claim: Claim, storage: Storage): SuitableVolumes {
  const ofStorage = known.get(storage.volumes) ?? new Map<string, SuitableVolumes>();
  known.set(storage.volumes, ofStorage);
  const key = JSON.stringify(claim, (_, part) => (typeof part === 'bigint' ? `${part}` : part));
  let suitable = ofStorage.get(key);
  if (suitable === undefined) {
    const volumes = volumesFor(claim, storage);
    const reserved = volumes.filter(volume => isReservedFor(volume, claim));
    suitable = { volumes, reserved, byNode: new VolumesByNode(volumes) };
    ofStorage.set(key, suitable);
  }
  return suitable;
}

/** On any node. */
function volumesFor(claim: Claim, { volumes }: Storage): Volume[] {
  const suitable: Volume[] = [];
  for (const volume of volumes.values()) {
    const isReserved = isReservedFor(volume, claim);
    // The scheduler considers only volumes of the claim's class.
    if (volume.className !== claim.className || volume.isDeleting) continue;
    if (volume.claimRef !== undefined && !isReserved) continue;
    if (compareQuantities(volume.size, claim.size) < 0 || volume.volumeMode !== claim.volumeMode) continue;
    if (volume.attributesClass !== claim.attributesClass) continue;
    if (!isReserved) {
      if (volume.phase !== 'Available') continue;
      if (claim.selector !== undefined && !matchesQuery(claim.selector, volume.labels)) continue;
      if (!claim.accessModes.every(mode => volume.accessModes.includes(mode))) continue;
    }
    suitable.push(volume);
  }
  return suitable;
}

function isReservedFor({ claimRef }: Volume, { namespace, name, uid }: Claim): boolean {
  if (claimRef === undefined || claimRef.name !== name || claimRef.namespace !== namespace) return false;
  return claimRef.uid === '' || claimRef.uid === uid;
}
