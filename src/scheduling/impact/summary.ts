/** Summarizes results for nodes and pods: for each changed key, and for each owner of pods. */
import { ownValue } from '../../nodepool/json.ts';
import { compareTexts } from '../../nodepool/text.ts';
import type { Node, Taint } from '../../nodepool/types.ts';
import type { ExceededQuota } from '../exceeded-quotas.ts';
import { FitReasons } from '../fit-reasons.ts';
import type { LimitRangeEffects } from '../limit-ranges.ts';
import { byNotJudged, notJudgedFinder } from '../not-judged.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTraits, UnfitReason } from '../types.ts';
import type { ChangedKey } from './node-keys.ts';
import type { OpenNodes } from './open-nodes.ts';
import { idOf, isAffected } from './selecting.ts';
import type {
  DaemonImpact,
  DrainOrder,
  KeyImpact,
  NotJudged,
  PodsImpact,
  RunningPod,
  SelectedBy,
  SelectingObject,
} from './types.ts';

export interface DaemonNode {
  namespace: string;
  name: string;
  node: string;
  kind: 'starts' | 'stops';
  /** What the node lacks for a new pod. */
  lacks: readonly UnfitReason[];
}

interface KeyFindings {
  change: ChangedKey;
  nodes: string[];
  drain: DrainOrder | undefined;
  daemons: DaemonNode[];
  notAgain: RunningPod[];
  evicted: RunningPod[];
  shutOut: SelectingObject[];
}

export class KeyImpacts {
  readonly #found = new Map<string, KeyFindings>();
  /** For the keys of the last begin(). */
  #current = new Map<ChangedKey, KeyFindings>();

  /** Sets the keys that change on a node, until the next call. @param meanwhile the node while taints wait */
  begin(node: string, keys: readonly ChangedKey[], meanwhile?: Node): void {
    this.#current = new Map(keys.map(key => [key, this.#of(key)]));
    for (const [change, found] of this.#current) {
      found.nodes.push(node);
      if (meanwhile === undefined || !isAwaited(change, meanwhile)) continue;
      const closes = ({ key, effect }: Taint) => key === change.key && effect === 'NoSchedule';
      const { nodes, closedBy } = found.drain ?? { nodes: 0, closedBy: meanwhile.taints.find(closes) };
      found.drain = { nodes: nodes + 1, closedBy };
    }
  }

  /** @param causes keys that were passed to begin() */
  add(causes: readonly ChangedKey[], put: (found: KeyFindings) => void): void {
    for (const cause of causes) put(this.#current.get(cause) ?? this.#of(cause));
  }

  /** Labels before taints, by key. @param after all nodes after the change @param open for these */
  summarize(selecting: readonly SelectingObject[], after: readonly Node[], open: OpenNodes): KeyImpact[] {
    const counts = new LabelCounts(after);
    const sorted = [...this.#found].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([, { change, nodes, drain, daemons, notAgain, evicted, shutOut }]) => ({
      change,
      nodes: nodes.toSorted(),
      holders: counts.holders(change),
      drain,
      daemonSets: daemonImpacts(daemons),
      notAgain: byOwner(notAgain),
      evicted: byOwner(evicted),
      shutOut: shutOut.map(({ kind, namespace, name }) => ({ kind, namespace, name })).toSorted(byName),
      selectedBy:
        change.kind === 'label' ? selectedBy(change, selecting, { isGone: counts.isGone(change.key), open }) : [],
    }));
  }

  #of(change: ChangedKey): KeyFindings {
    const { kind, key, effect = '', from = null, to = null } = change;
    const id = JSON.stringify([kind, key, effect, from, to]);
    let found = this.#found.get(id);
    if (found === undefined) {
      found = { change, nodes: [], drain: undefined, daemons: [], notAgain: [], evicted: [], shutOut: [] };
      this.#found.set(id, found);
    }
    return found;
  }
}

/** Whether the node gets the taint only after its pods are evicted. */
function isAwaited({ kind, key, effect, to }: ChangedKey, meanwhile: Node): boolean {
  if (kind !== 'taint' || effect !== 'NoExecute' || to === undefined) return false;
  return !meanwhile.taints.some(taint => taint.key === key && taint.effect === effect && (taint.value ?? '') === to);
}

/** How many nodes have a label value; each key is counted once, however many of its values change. */
class LabelCounts {
  readonly #nodes: readonly Node[];
  readonly #byKey = new Map<string, Map<string, number>>();

  constructor(nodes: readonly Node[]) {
    this.#nodes = nodes;
  }

  /** Undefined: there was no label before the change. */
  holders({ kind, key, from }: ChangedKey): number | undefined {
    if (kind !== 'label' || from === undefined) return undefined;
    return this.#of(key).get(from) ?? 0;
  }

  isGone(key: string): boolean {
    return this.#of(key).size === 0;
  }

  #of(key: string): ReadonlyMap<string, number> {
    let counts = this.#byKey.get(key);
    if (counts !== undefined) return counts;
    counts = new Map();
    for (const { labels } of this.#nodes) {
      const value = ownValue(labels, key);
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    this.#byKey.set(key, counts);
    return counts;
  }
}

function selectedBy(
  { key, from, to }: ChangedKey,
  selecting: readonly SelectingObject[],
  { isGone, open }: { isGone: boolean; open: OpenNodes },
): SelectedBy[] {
  const found = selecting.flatMap(({ kind, namespace, name, keys, placement, refusedBy }): SelectedInOneWay[] => {
    const uses = keys.get(key) ?? [];
    if (uses.length === 0) return [];
    const others = uses.filter(use => isAffected(use, from, to));
    const shown = others.length > 0 ? others : uses;
    const places = shown.map(use => use.where);
    const isPreferred = shown.every(({ isPreference = false }) => isPreference);
    const isRefused = refusedBy?.includes(key) === true;
    const isClosed = others.length > 0 && !isPreferred && placement !== undefined && !open.isAny(placement);
    const isPending = !isRefused && (isClosed || (isGone && uses.some(({ isNeeded }) => isNeeded)));
    return [
      { kind, namespace, name, places, isPreferred, isAffected: isRefused || others.length > 0, isPending, isRefused },
    ];
  });
  return [...Map.groupBy(found, idOf).values()].flatMap(merged).toSorted(byName);
}

type NamedObject = Pick<SelectingObject, 'kind' | 'namespace' | 'name'>;

function byName(a: NamedObject, b: NamedObject): number {
  return compareTexts(a.kind, b.kind) || compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name);
}

interface SelectedInOneWay extends Omit<SelectedBy, 'where'> {
  places: string[];
}

/** Pods of one owner may have different requirements. */
function merged(found: readonly SelectedInOneWay[]): SelectedBy[] {
  const [first] = found;
  if (first === undefined) return [];
  const { kind, namespace, name } = first;
  const affected = found.filter(each => each.isAffected);
  const shown = affected.length > 0 ? affected : found;
  const where = [...new Set(shown.flatMap(({ places }) => places))].join(', ');
  const isPreferred = shown.every(each => each.isPreferred);
  const [isPending, isRefused] = [found.some(each => each.isPending), found.some(each => each.isRefused)];
  return [{ kind, namespace, name, where, isPreferred, isAffected: affected.length > 0, isPending, isRefused }];
}

export function daemonImpacts(daemons: readonly DaemonNode[]): DaemonImpact[] {
  const sets = Map.groupBy(daemons, ({ namespace, name }) => `${namespace}/${name}`);
  return [...sets.values()]
    .flatMap((found): DaemonImpact[] => {
      const [first] = found;
      if (first === undefined) return [];
      const those = (kind: DaemonNode['kind']) => found.filter(each => each.kind === kind).map(({ node }) => node);
      const { namespace, name } = first;
      const short = found.filter(({ lacks }) => lacks.length > 0);
      const reasons = new FitReasons();
      for (const { lacks } of short) reasons.add(lacks);
      const pending = short.map(({ node }) => node).toSorted();
      return [
        { namespace, name, starts: those('starts').toSorted(), stops: those('stops').toSorted(), pending, reasons },
      ];
    })
    .toSorted((a, b) => compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name));
}

export interface RecreationFacts {
  /** Extended resources that a DeviceClass provides. */
  classes: ReadonlySet<string>;
  quotas: readonly ExceededQuota[];
  ranges: readonly LimitRangeEffects[];
}

/** @param pods that would be created again */
export function notJudgedOf(
  pods: readonly RunningPod[],
  snapshot: Snapshot,
  { classes, quotas, ranges }: RecreationFacts,
): NotJudged[] {
  const ofPod = notJudgedFinder(snapshot, classes);
  const refusing = Map.groupBy(quotas, ({ namespace }) => namespace);
  const changing = Map.groupBy(ranges, ({ namespace }) => namespace);
  const hasClaims = (pod: PodTraits) => pod.claims.some(({ template }) => template !== undefined);
  const textsOf = ({ pod }: RunningPod): readonly string[] => {
    const [quotasHere, rangesHere] = [refusing.get(pod.namespace), changing.get(pod.namespace)];
    // Without a list for each of 50,000 pods.
    if (quotasHere === undefined && rangesHere === undefined) return ofPod(pod);
    return [
      ...ofPod(pod),
      ...(quotasHere ?? []).flatMap(({ text, isOfClaims }) =>
        isOfClaims && !hasClaims(pod) ? [] : `${text}, which may keep pods from being created again`,
      ),
      ...(rangesHere ?? []).map(({ text }) => `${text}, which may change or refuse pods that are created again`),
    ];
  };
  return [...byNotJudged(pods, textsOf)].map(([what, some]) => ({ what, pods: byOwner(some) }));
}

function byOwner(pods: readonly RunningPod[]): PodsImpact[] {
  return groupsOf(pods).map(({ impact }) => impact);
}

/** By owner. A pod without an owner is a group of its own. */
export function groupsOf<P extends RunningPod>(pods: readonly P[]): { impact: PodsImpact; group: P[] }[] {
  const idOf = ({ name, pod, owner }: RunningPod) => `${pod.namespace} ${owner?.kind ?? 'Pod'} ${owner?.name ?? name}`;
  return [...Map.groupBy(pods, idOf)]
    .toSorted(([a], [b]) => compareTexts(a, b))
    .flatMap(([, group]) => {
      const [first] = group;
      if (first === undefined) return [];
      const names = group.map(({ name }) => name).toSorted();
      return [{ impact: { namespace: first.pod.namespace, owner: first.owner, pods: names }, group }];
    });
}
