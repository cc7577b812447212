/** How pods that replace evicted ones may differ from them, or why they may not be created. */
import type { ImpactPort, NewRevision } from '../../kube/resources/impact.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { type DrainPod, podName } from '../../nodepool/drain/drain-filters.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import { plural } from '../../nodepool/text.ts';
import type { RawPod } from '../../scheduling/pod/raw-pod.ts';
import { readPlacedPod } from '../../scheduling/pod/read-pod.ts';
import type { Pod } from '../../scheduling/types.ts';
import type { KeptPod } from '../shared/read-snapshot.ts';
import { permitted } from '../shared/refusals.ts';

export interface RecreationRisks {
  pods: number;
  /** Why they may not be created, or not with the same requests. */
  lines: string[];
  notJudged: string[];
}

/** By ResourceQuotas and LimitRanges. @param namesOf for a line of what is not judged */
export async function recreationRisks(
  moving: readonly KeptPod[],
  namesOf: (pods: readonly KeptPod[]) => string,
  port: SchedulingPort,
): Promise<RecreationRisks> {
  const lacks = ({ pod }: KeptPod, resources: readonly string[]) => resources.some(name => !pod.requests.has(name));
  const [quotas, ranges] = await Promise.all([permitted(port.exceededQuotas()), permitted(port.limitRanges())]);
  const found: RecreationRisks = { pods: 0, lines: [], notJudged: [] };
  if ('forbidden' in quotas) found.notJudged.push(`ResourceQuotas: ${quotas.forbidden.oneLine}`);
  if ('forbidden' in ranges) found.notJudged.push(`LimitRanges: ${ranges.forbidden.oneLine}`);
  for (const [namespace, pods] of Map.groupBy(moving, ({ pod }) => pod.namespace)) {
    const of = <T extends { namespace: string }>(all: readonly T[]) => all.filter(each => each.namespace === namespace);
    const limits = of('value' in ranges ? ranges.value : []);
    const unsure = [
      ...of('value' in quotas ? quotas.value : []).map(quota => ({
        count: Math.min(quota.isOfClaims ? pods.filter(hasOwnClaims).length : pods.length, quota.pods),
        line: `may not be created again: ${quota.text}`,
      })),
      ...limits.map(({ text, defaults }) => ({
        count: pods.filter(each => lacks(each, defaults)).length,
        line: `may be created with other requests: ${text} (${defaults.join(', ')})`,
      })),
    ].filter(({ count }) => count > 0);
    for (const { text, rules } of limits)
      if (rules !== '') found.notJudged.push(`what ${text} allows (${rules}), for ${namesOf(pods)}`);
    found.pods += Math.max(0, ...unsure.map(({ count }) => count));
    found.lines.push(...unsure.map(({ count, line }) => `${plural(count, 'pod')} ${line}`));
  }
  return found;
}

/** Whether it gets claims of its own, which are deleted with it. */
function hasOwnClaims({ pod }: { pod: Pod }): boolean {
  return pod.claims.some(({ template }) => template !== undefined);
}

/**
 * Pods of StatefulSets that are created in order, after an ordinal whose pod is Pending. Reads the order only if there
 * are any.
 */
export async function behindPending(
  moving: readonly KeptPod[],
  waiting: readonly RawPod[],
  ofPod: (name: string) => DrainPod | undefined,
  ports: { impact: () => Promise<Pick<ImpactPort, 'parallelSets'>> },
): Promise<RecreationRisks> {
  const found: RecreationRisks = { pods: 0, lines: [], notJudged: [] };
  const first = new Map<string, string>();
  for (const { metadata: { namespace = '', name = '', ownerReferences = [] } = {} } of waiting) {
    const set = ownerReferences.find(({ controller, kind }) => controller && kind === 'StatefulSet')?.name;
    if (set === undefined) continue;
    const known = first.get(podName({ namespace, name: set }));
    if (known === undefined || ordinalOf(name) < ordinalOf(known)) first.set(podName({ namespace, name: set }), name);
  }
  const setOf = ({ pod }: KeptPod) => {
    const { controller } = ofPod(podName(pod)) ?? {};
    return controller?.kind === 'StatefulSet' ? podName({ namespace: pod.namespace, name: controller.name }) : '';
  };
  const isBehind = (each: KeptPod) => {
    const pending = first.get(setOf(each));
    return pending !== undefined && ordinalOf(each.pod.name) > ordinalOf(pending);
  };
  const blocked = Map.groupBy(moving.filter(isBehind), setOf);
  if (blocked.size === 0) return found;
  const parallel = await permitted((await ports.impact()).parallelSets());
  if ('forbidden' in parallel) {
    found.notJudged.push(`the order of StatefulSets: ${parallel.forbidden.oneLine}`);
    return found;
  }
  for (const [set, pods] of blocked) {
    if (parallel.value.has(set)) continue;
    const pending = podName({ namespace: pods[0]?.pod.namespace ?? '', name: first.get(set) ?? '' });
    found.pods += pods.length;
    found.lines.push(`${plural(pods.length, 'pod')} may not be created again before ${pending} runs, which is Pending`);
  }
  return found;
}

function ordinalOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('-') + 1));
}

/** StatefulSets with a newer revision; read only if a pod has one. The key is `namespace/name`. */
export async function newRevisions(
  evicted: readonly DrainPod[],
  impact: () => Promise<Pick<ImpactPort, 'newRevisions'>>,
): Promise<{ revisions: ReadonlyMap<string, NewRevision>; notJudged: string[] }> {
  const none: ReadonlyMap<string, NewRevision> = new Map();
  if (!evicted.some(({ controller }) => controller?.kind === 'StatefulSet')) return { revisions: none, notJudged: [] };
  const read = await permitted((await impact()).newRevisions());
  if ('value' in read) return { revisions: read.value, notJudged: [] };
  return { revisions: none, notJudged: [`new revisions of StatefulSets: ${read.forbidden.oneLine}`] };
}

/** The pod that its StatefulSet creates, maybe of a newer revision; its volumes stay. */
export function recreatedBy(
  { controller, namespace, name, labels: had }: DrainPod,
  { pod, node }: KeptPod,
  revisions: ReadonlyMap<string, NewRevision>,
): KeptPod {
  const set =
    controller?.kind === 'StatefulSet' ? revisions.get(podName({ namespace, name: controller.name })) : undefined;
  if (set === undefined || ordinalOf(name) < set.partition || had['controller-revision-hash'] === set.revision)
    return { pod, node };
  const { metadata, spec = {} } = set.template;
  const labels = { ...pod.labels, ...metadata?.labels, 'controller-revision-hash': set.revision };
  const next = readPlacedPod({ metadata: { namespace, name, labels }, spec }, quantityReader(), () => {});
  // Its template lacks what a RuntimeClass adds.
  const placement = spec.runtimeClassName ? pod.placement : next.placement;
  return { pod: { ...next, placement, nodeName: pod.nodeName, claims: pod.claims, disks: pod.disks }, node };
}
