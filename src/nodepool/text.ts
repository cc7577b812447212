import { own } from './json.ts';

/** Irregular plurals of counted words, and of kinds whose resource name is derived from the kind. */
const IRREGULAR: Readonly<Record<string, string>> = {
  policy: 'policies',
  MutatingAdmissionPolicy: 'MutatingAdmissionPolicies',
  NetworkPolicy: 'NetworkPolicies',
  PriorityClass: 'PriorityClasses',
  RuntimeClass: 'RuntimeClasses',
  ValidatingAdmissionPolicy: 'ValidatingAdmissionPolicies',
};

/** `1 node`, `2 nodes`. */
export function plural(count: number, one: string): string {
  return `${count} ${noun(count, one)}`;
}

/** `node` for 1, otherwise `nodes`. */
export function noun(count: number, one: string): string {
  return count === 1 ? one : (own(IRREGULAR, one) ?? `${one}s`);
}

/** `a, b and 3 more`: at most `most` names, then the number of the others. */
export function firstFew(names: readonly string[], most: number, separator = ', ', last = ' '): string {
  return names.slice(0, most).join(separator) + andMore(names.length - most, last);
}

/** `and 3 more`, between what precedes and follows it; nothing for 0 and less. */
export function andMore(count: number, before = '', after = ''): string {
  return count > 0 ? `${before}and ${count} more${after}` : '';
}

/** The resource of a kind, as in API paths and RBAC: `networkpolicies`. */
export function resourceOf(kind: string): string {
  return noun(2, kind).toLowerCase();
}

/** The longest prefix of the text with at most `limit` bytes of UTF-8. Does not split a character. */
export function cutBytes(text: string, limit: number): string {
  const bytes = new TextEncoder().encode(text).subarray(0, limit);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Truncates the text to at most `limit` bytes of UTF-8; a truncated text ends with an ellipsis. */
export function ellipsize(text: string, limit: number): string {
  const fits = new TextEncoder().encode(text).length <= limit;
  return fits ? text : `${cutBytes(text, limit - new TextEncoder().encode('…').length)}…`;
}
