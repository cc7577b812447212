import { own } from './json.ts';

/** The plurals of every word that is counted, and of every kind whose resource is asked for by its kind: one table. */
const IRREGULAR: Readonly<Record<string, string>> = {
  policy: 'policies',
  NetworkPolicy: 'NetworkPolicies',
  PriorityClass: 'PriorityClasses',
  RuntimeClass: 'RuntimeClasses',
  ValidatingAdmissionPolicy: 'ValidatingAdmissionPolicies',
};

/** `1 node`, `2 nodes`. */
export function plural(count: number, one: string): string {
  return `${count} ${noun(count, one)}`;
}

/** `node` of 1, else `nodes`. */
export function noun(count: number, one: string): string {
  return count === 1 ? one : (own(IRREGULAR, one) ?? `${one}s`);
}

/** `a, b and 3 more`: as many as may be named, and how many others there are. */
export function firstFew(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** The resource of a kind, as in the API's paths and in RBAC: `networkpolicies`. */
export function resourceOf(kind: string): string {
  return noun(2, kind).toLowerCase();
}
