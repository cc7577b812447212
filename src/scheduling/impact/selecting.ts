/** The node labels that a pod template, a volume or another object selects, and where in the object it does. */
import { meetsNode, type Requirement } from '../../nodepool/label-query.ts';
import type { RawPodSpec } from '../raw-pod.ts';
import type { KeyUse } from './types.ts';

/** By label key. @param spec of a pod or a template */
export function keysOfPod(spec: RawPodSpec): Map<string, KeyUse> {
  const keys = new Map<string, KeyUse>();
  addLabels(spec.nodeSelector, keys);
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  addTerms(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, keys);
  const spread = spec.topologySpreadConstraints ?? [];
  for (const { topologyKey, whenUnsatisfiable } of spread)
    if (whenUnsatisfiable !== 'ScheduleAnyway') addTopology('topology spread', topologyKey, keys, true);
  for (const { topologyKey } of podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
    addTopology('pod affinity', topologyKey, keys, true);
  for (const { topologyKey } of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
    addTopology('pod anti-affinity', topologyKey, keys, false);
  // A rule comes before a preference.
  const prefer = (where: string, key = '') => {
    if (key !== '' && !keys.has(key)) keys.set(key, { where: `${PREFERRED}${where}` });
  };
  for (const { preference } of nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    for (const { key } of preference?.matchExpressions ?? []) prefer('node affinity', key);
  for (const { topologyKey, whenUnsatisfiable } of spread)
    if (whenUnsatisfiable === 'ScheduleAnyway') prefer('topology spread', topologyKey);
  return keys;
}

/** @param selector as `{disk: ssd}` */
export function keysOfLabels(selector: Readonly<Record<string, string>> | undefined): Map<string, KeyUse> {
  const keys = new Map<string, KeyUse>();
  addLabels(selector, keys);
  return keys;
}

/** Whether another value of the label changes the answer of the object. */
export function isAffected({ requirements }: KeyUse, from: string | undefined, to: string | undefined): boolean {
  if (requirements === undefined) return true;
  return requirements.some(requirement => meetsNode(requirement, from) !== meetsNode(requirement, to));
}

const PREFERRED = 'preferred ';

/** Whether the scheduler may ignore it. @param where of keysOfPod() */
export function isPreference(where: string): boolean {
  return where.startsWith(PREFERRED);
}

/** By label key. @param terms required node affinity of a pod or a PersistentVolume */
export function keysOfTerms(terms: Terms): Map<string, KeyUse> {
  const keys = new Map<string, KeyUse>();
  addTerms(terms, keys);
  return keys;
}

type Terms = readonly { matchExpressions?: readonly Partial<Requirement>[] }[] | undefined;

function addLabels(selector: Readonly<Record<string, string>> = {}, keys: Map<string, KeyUse>): void {
  for (const [key, value] of Object.entries(selector))
    keys.set(key, { where: 'nodeSelector', requirements: [{ key, operator: 'In', values: [value] }] });
}

/** Every other value is another domain, whatever else the object asks of it. */
function addTopology(where: string, key = '', keys: Map<string, KeyUse>, isNeeded: boolean): void {
  if (key === '') return;
  const known = keys.get(key);
  const wheres = known === undefined ? [where] : [...new Set([...known.where.split(', '), where])];
  keys.set(key, { where: wheres.join(', '), isNeeded: isNeeded || known?.isNeeded === true });
}

function addTerms(terms: Terms, keys: Map<string, KeyUse>): void {
  for (const { matchExpressions = [] } of terms ?? []) {
    for (const { key = '', operator = '', values = [] } of matchExpressions) {
      if (key === '') continue;
      const { where = 'node affinity', requirements = [] } = keys.get(key) ?? {};
      keys.set(key, { where, requirements: [...requirements, { key, operator, values }] });
    }
  }
}

/** A character of a label key: what stands beside the key in an expression is none. */
const OF_KEY = /[A-Za-z0-9._/-]/;

/**
 * Whether a field of any object names the label: as a key of a map (`nodeSelector: {disk: ssd}`), as the text of a field
 * (`topologyKey: disk`), or within an expression (`has(disk)`), as Calico's selectors are.
 */
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
