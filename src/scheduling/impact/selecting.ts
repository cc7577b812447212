/** The node labels that a pod template, a volume or another object selects, and in which field. */
import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import { ownValue } from '../../nodepool/json.ts';
import { meetsNode, type Requirement } from '../../nodepool/membership/label-query.ts';
import type { Scheduling } from '../../nodepool/plan/runtime-class.ts';
import type { RawPodSpec } from '../pod/raw-pod.ts';
import { zonesOf } from '../volumes/volumes.ts';
import type { KeyUse, SelectingObject } from './types.ts';

/** Each use of each label, requirements before preferences. */
type LabelUses = Map<string, KeyUse[]>;

export function idOf({ kind, namespace, name }: Pick<SelectingObject, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace} ${name}`;
}

/** By label key. @param spec of a pod or a template */
export function keysOfPod(spec: RawPodSpec): LabelUses {
  const keys: LabelUses = new Map();
  const add = (where: string, key: string | undefined, isNeeded = false) => addUse(keys, key, { where, isNeeded });
  const prefer = (what: string, key: string | undefined) =>
    addUse(keys, key, { where: `preferred ${what}`, isPreference: true });
  addLabels(spec.nodeSelector, keys);
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  addTerms(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, keys);
  const spread = spec.topologySpreadConstraints ?? [];
  for (const { topologyKey, whenUnsatisfiable } of spread)
    if (whenUnsatisfiable !== 'ScheduleAnyway') add(SPREAD, topologyKey, true);
  for (const { topologyKey } of podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
    add('pod affinity', topologyKey, true);
  for (const { topologyKey } of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
    add('pod anti-affinity', topologyKey);
  for (const { preference } of nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    for (const { key } of preference?.matchExpressions ?? []) prefer('node affinity', key);
  for (const { topologyKey, whenUnsatisfiable } of spread)
    if (whenUnsatisfiable === 'ScheduleAnyway') prefer(SPREAD, topologyKey);
  return keys;
}

/** @param selector such as `{disk: ssd}` */
export function keysOfLabels(selector: Readonly<Record<string, string>> | undefined): LabelUses {
  const keys: LabelUses = new Map();
  addLabels(selector, keys);
  return keys;
}

/** Whether another value of the label changes what the object selects. */
export function isAffected({ requirements }: KeyUse, from: string | undefined, to: string | undefined): boolean {
  if (requirements === undefined) return true;
  return requirements.some(requirement => meetsNode(requirement, from) !== meetsNode(requirement, to));
}

/** The placement of new pods with what a RuntimeClass adds. Admission refuses pods that select another value. */
export function admitted(
  placement: PodPlacement,
  { nodeSelector = {}, tolerations = [] }: Scheduling,
): Pick<SelectingObject, 'placement' | 'refusedBy'> {
  const isOther = ([key, value]: [string, string]) => (ownValue(placement.nodeSelector, key) ?? value) !== value;
  const refusedBy = Object.entries(nodeSelector)
    .filter(isOther)
    .map(([key]) => key);
  const merged = {
    ...placement,
    nodeSelector: { ...placement.nodeSelector, ...nodeSelector },
    tolerations: [...placement.tolerations, ...tolerations],
  };
  return { placement: merged, ...(refusedBy.length === 0 ? {} : { refusedBy }) };
}

const SPREAD = 'topology spread';

/** By label key. @param labels of a PersistentVolume, with its zone @param terms its required node affinity */
export function keysOfVolume(labels: Readonly<Record<string, string>> | undefined, terms: SelectorTerms): LabelUses {
  const keys: LabelUses = new Map();
  addTerms(terms, keys);
  for (const [key, values] of zonesOf(labels)) {
    addUse(keys, key, { where: 'zone label', requirements: [{ key, operator: 'In', values }] });
  }
  return keys;
}

type SelectorTerms = readonly { matchExpressions?: readonly Partial<Requirement>[] }[] | undefined;

function addLabels(selector: Readonly<Record<string, string>> = {}, keys: LabelUses): void {
  for (const [key, value] of Object.entries(selector))
    addUse(keys, key, { where: 'nodeSelector', requirements: [{ key, operator: 'In', values: [value] }] });
}

function addTerms(terms: SelectorTerms, keys: LabelUses): void {
  const expressions = (terms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.map(({ key = '', operator = '', values = [] }): Requirement => ({ key, operator, values })),
  );
  for (const [key, requirements] of Map.groupBy(expressions, each => each.key))
    addUse(keys, key, { where: 'node affinity', requirements });
}

function addUse(keys: LabelUses, key: string | undefined, use: KeyUse): void {
  if (key === undefined || key === '') return;
  const uses = keys.get(key) ?? [];
  if (!uses.some(({ where }) => where === use.where)) keys.set(key, [...uses, use]);
}

/** A character of a label key: a neighbouring one means that the match is only a part of another key. */
const OF_KEY = /[A-Za-z0-9._/-]/;

/** Whether a key, a text or an expression in an object names the label, as in Calico's selector `has(disk)`. */
export function namesLabel(value: unknown, label: string): boolean {
  if (typeof value === 'string') return isInText(value, label);
  if (Array.isArray(value)) return value.some(item => namesLabel(item, label));
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => key === label || namesLabel(inner, label));
}

function isInText(text: string, label: string): boolean {
  for (let at = text.indexOf(label); at !== -1; at = text.indexOf(label, at + 1)) {
    const [before, after] = [text[at - 1] ?? ' ', text[at + label.length] ?? ' '];
    if (!OF_KEY.test(before) && !OF_KEY.test(after)) return true;
  }
  return false;
}
