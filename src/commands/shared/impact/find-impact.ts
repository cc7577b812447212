/** How a plan affects pods and objects that select nodes: reads them, and runs the scheduler model. */
import { collectGarbage } from '../../../controller/collect.ts';
import type { ClusterReader } from '../../../kube/cluster.ts';
import type { ImpactPorts, SelectorPath } from '../../../kube/resources/impact.ts';
import { NodepoolError, type Warning } from '../../../nodepool/errors.ts';
import type { Change } from '../../../nodepool/plan/change.ts';
import { allChanges, type DuePlan } from '../../../nodepool/plan/plan.ts';
import { arrivingNoExecute } from '../../../nodepool/spec/taints.ts';
import type { Node } from '../../../nodepool/types.ts';
import { type ClusterPlan, plansToTheEnd } from '../../../reconciler/plan/cluster-plan.ts';
import { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { impactOf, isClosing } from '../../../scheduling/impact/impact.ts';
import { LeavingPods, movingPods } from '../../../scheduling/impact/leaving-pods.ts';
import { changedNode, type PlannedChange } from '../../../scheduling/impact/node-keys.ts';
import { keysOfPod } from '../../../scheduling/impact/selecting.ts';
import type { DaemonSet, Impact, SelectingObject } from '../../../scheduling/impact/types.ts';
import { allPermitted } from '../refusals.ts';
import { type ReadOptions, readAll, readCustom } from './read-impact.ts';

export interface FoundImpact {
  impact: Impact;
  /** Whether pods and DaemonSets could be read. */
  isKnown: boolean;
  /** What could not be read, so that the impact on it is unknown. */
  warnings: Warning[];
  /** Labels change, and only WELL_KNOWN fields of custom resources were checked. */
  isWellKnownOnly: boolean;
  runtimeClasses: ClusterPlan['runtimeClasses'];
  poolOf: (node: string) => string | undefined;
}

/**
 * The impact of everything that the plan does in the end: see plansToTheEnd(). If no label or taint changes, it only
 * reads the paths in the command line. Throws NodepoolError if the server does not serve the resource of such a path.
 */
export async function findImpact(
  plan: ClusterPlan,
  state: ClusterState,
  paths: readonly SelectorPath[],
  ports: ImpactPorts,
): Promise<FoundImpact> {
  const { runtimeClasses } = plan;
  const plans = plansToTheEnd(plan);
  const leaving = changesOf(plans)
    .map(change => new LeavingPods(change))
    .filter(({ keys }) => keys.length > 0);
  const changes = leaving.map(({ change }) => change);
  const owners = new Map(plans.map(({ node, owner }) => [node.name, owner]));
  const poolOf = (node: string) => (owners.has(node) ? owners.get(node) : state.ownership(node)?.owner);
  if (leaving.length === 0) {
    const fromFlag = paths.filter(path => path.flagText !== undefined);
    const warnings = fromFlag.length === 0 ? [] : (await readCustom(await ports.impact(), fromFlag, [])).warnings;
    return {
      impact: { keys: [], daemonSets: [], notAgain: [], evicted: [], budgets: [], notJudged: [] },
      isKnown: true,
      isWellKnownOnly: false,
      runtimeClasses,
      warnings,
      poolOf,
    };
  }
  const labels = new Set(leaving.flatMap(({ keys }) => keys).flatMap(({ kind, key }) => (kind === 'label' ? key : [])));
  const changed = new Map(changes.map(change => [change.before.name, change]));
  const everyNode = [...state.nodes()].map((node): Node => changed.get(node.name)?.after ?? node);
  const mayEvict = changes.some(({ before, after }) => arrivingNoExecute(before.taints, after.taints).length > 0);
  const moving: ReadOptions['moving'] = (here, storage) => movingPods(leaving, here, storage);
  const mayShutOut = leaving.some(({ keys }) => keys.some(isClosing));
  const classes = new Map(runtimeClasses.flatMap(({ name, change }) => (change === undefined ? [] : [[name, change]])));
  const options = { paths, labels: [...labels], nodes: everyNode, changed, classes, mayEvict, mayShutOut, moving };
  const read = await readAll(options, ports);
  const { snapshot, here, untemplated } = read.running;
  const impact = impactOf({
    leaving,
    pods: here,
    daemonSets: read.daemonSets,
    budgets: read.budgets,
    parallel: read.parallel,
    deviceResources: read.deviceResources,
    quotas: read.quotas,
    ranges: read.ranges,
    selecting: [...read.selecting, ...read.daemonSets.map(selectingOf), ...untemplated.selecting()],
    snapshot,
    collect: collectGarbage,
  });
  const isWellKnownOnly = labels.size > 0 && paths.every(path => WELL_KNOWN.includes(path));
  const { isKnown, warnings } = read;
  return { impact, isKnown, isWellKnownOnly, runtimeClasses, warnings, poolOf };
}

/** The current nodes and their owners: all that findImpact() needs from a cluster state. */
export async function readOwnership({ pools, nodes }: ClusterReader): Promise<ClusterState> {
  const [known, listed] = await allPermitted([pools.listCoerced(), nodes.list()]);
  return new ClusterState(known, listed, []);
}

/** If a plan repairs a node without using a slot of the rollout, a later plan has the node's other changes. */
function changesOf(plans: readonly DuePlan[]): PlannedChange[] {
  return [...Map.groupBy(plans, ({ node }) => node.name).values()].flatMap((ofNode): PlannedChange[] => {
    const [first] = ofNode;
    if (first === undefined) return [];
    const after = changedNode(first.node, ofNode.flatMap(allChanges));
    const isDrained = ofNode.some(({ drain }) => drain !== undefined);
    const meanwhile = isDrained
      ? changedNode(
          first.node,
          ofNode.flatMap(({ changes }) => changes),
        )
      : undefined;
    return [{ before: first.node, after, ...(meanwhile && { meanwhile }) }];
  });
}

function selectingOf({ namespace, name, template }: DaemonSet): SelectingObject {
  return { kind: 'DaemonSet', namespace, name, keys: keysOfPod(template) };
}

// Whether the impact of a plan is worth a question: changes that can cost a pod its place, and their effects.

/** An identifier, by node, for each changed label and each new taint that keeps pods away. */
export function risksOf(all: ClusterPlan): string[] {
  return plansToTheEnd(all).flatMap(plan =>
    allChanges(plan)
      .filter(isRisk)
      .map(({ kind, key, effect = '', to }) => JSON.stringify([plan.node.name, kind, key, effect, to ?? null])),
  );
}

/** Whether a pod is stopped or evicted, or could not return, or an object selects different nodes. */
export function isWorthAsking({ keys, daemonSets, notAgain, evicted }: Impact): boolean {
  const isSelected = keys.some(
    ({ change, selectedBy }) =>
      change.from !== undefined && selectedBy.some(({ isPreferred, isAffected }) => isAffected && !isPreferred),
  );
  return (
    isSelected ||
    keys.some(({ shutOut }) => shutOut.length > 0) ||
    notAgain.length > 0 ||
    evicted.length > 0 ||
    daemonSets.some(({ stops }) => stops.length > 0)
  );
}

function isRisk(change: Change): boolean {
  // A new label can also keep pods away, by NotIn and DoesNotExist.
  return change.kind === 'label' ? change.from !== change.to : isClosing(change);
}

// Fields of custom resources that contain node labels: well-known ones, and those that the user names.

/** A wrong selection in these would take down the cluster's network, so they are checked if the server has them. */
export const WELL_KNOWN: readonly SelectorPath[] = [
  'bgppeers.crd.projectcalico.org:.spec.nodeSelector',
  'bgppeers.crd.projectcalico.org:.spec.peerSelector',
  'ippools.crd.projectcalico.org:.spec.nodeSelector',
  'ciliumbgpclusterconfigs.cilium.io:.spec.nodeSelector',
  'ciliumbgppeeringpolicies.cilium.io:.spec.nodeSelector',
  'ciliumegressgatewaypolicies.cilium.io:.spec.egressGateway.nodeSelector',
  'ciliuml2announcementpolicies.cilium.io:.spec.nodeSelector',
  'bgpadvertisements.metallb.io:.spec.nodeSelectors',
  'bgppeers.metallb.io:.spec.nodeSelectors',
  'l2advertisements.metallb.io:.spec.nodeSelectors',
].map(text => parse(text, 'a well-known path'));

/** `RESOURCE.GROUP:.FIELD.FIELD`. Throws NodepoolError. @param where for the error, such as `--impact-path` */
export function parseSelectorPaths(texts: readonly string[], where: string): SelectorPath[] {
  return texts.map(text => parse(text, where));
}

/** Paths from the command line: it is an error if the server does not serve the resource. */
export function selectorPathsOfFlag(texts: readonly string[], flag: string): SelectorPath[] {
  return texts.map(text => ({ ...parse(text, flag), flagText: `${flag}: "${text}"` }));
}

function parse(text: string, where: string): SelectorPath {
  const match = /^([a-z0-9-]+\.[a-z0-9.-]+):((?:\.[A-Za-z0-9_-]+)+)$/.exec(text);
  const [, resource, path] = match ?? [];
  if (resource === undefined || path === undefined) {
    throw new NodepoolError(
      'usage',
      `${where}: "${text}" is not RESOURCE:FIELD`,
      'write it as bgppeers.crd.projectcalico.org:.spec.nodeSelector',
    );
  }
  return { resource, fields: path.slice(1).split('.') };
}
