/**
 * The API server's rules for label keys and values, taints and names (k8s.io/apimachinery pkg/api/validate/content).
 */
import type { Taint, TaintEffect } from '../types.ts';

export const TAINT_EFFECTS: readonly TaintEffect[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const WORD = "letters, digits, '-', '_' and '.', with a letter or digit first and last";

/** Cache of valid keys: pools and thousands of nodes share a few. */
const valid = new Set<string>();
const MAX_REMEMBERED = 1000;

/** The problem with the key of a label or taint (`[prefix/]name`); undefined if it is valid. */
export function keyProblem(key: string): string | undefined {
  if (valid.has(key)) return undefined;
  const problem = problemOf(key);
  if (problem !== undefined) return problem;
  if (valid.size >= MAX_REMEMBERED) valid.clear();
  valid.add(key);
  return undefined;
}

function problemOf(key: string): string | undefined {
  if (key === '') return 'the key is empty';
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  const shown = JSON.stringify(key);
  if (name.includes('/')) return `key ${shown} has more than one "/"`;
  if (slash >= 0) {
    const prefix = key.slice(0, slash);
    if (prefix === '') return `key ${shown} has an empty prefix before the "/"`;
    if (prefix.length > 253) return `the prefix of key ${shown} is longer than 253 characters`;
    if (!DNS_SUBDOMAIN.test(prefix)) {
      return `the prefix of key ${shown} must be a DNS name: lower case letters, digits, '-' and '.'`;
    }
  }
  if (name === '') return `key ${shown} has an empty name after the "/"`;
  if (name.length > 63) return `the name of key ${shown} is longer than 63 characters`;
  if (!LABEL_NAME.test(name)) return `the name of key ${shown} must consist of ${WORD}`;
  return undefined;
}

/** The problem with the value of a label or taint; undefined if it is valid. "" is valid. */
export function valueProblem(value: string): string | undefined {
  if (value.length > 63) return `value ${JSON.stringify(value)} is longer than 63 characters`;
  if (value !== '' && !LABEL_NAME.test(value))
    return `value ${JSON.stringify(value)} must be empty or consist of ${WORD}`;
  return undefined;
}

export function effectProblem(effect: string): string | undefined {
  if (isTaintEffect(effect)) return undefined;
  return `effect ${JSON.stringify(effect)} must be one of ${TAINT_EFFECTS.join(', ')}`;
}

export function isTaintEffect(effect: string): effect is TaintEffect {
  return (TAINT_EFFECTS as readonly string[]).includes(effect);
}

/** The problem with a DNS-1123 label, such as a runtime handler; undefined if it is valid. */
export function dnsLabelProblem(label: string): string | undefined {
  if (label.length > 63) return `${JSON.stringify(label)} is longer than 63 characters`;
  if (DNS_LABEL.test(label)) return undefined;
  return `${JSON.stringify(label)} must consist of lower case letters, digits and '-', with a letter or digit first and last`;
}

/** Whether it is a valid name for most kinds, such as nodes (DNS-1123 subdomain). */
export function isSubdomain(name: string): boolean {
  return name.length <= 253 && DNS_SUBDOMAIN.test(name);
}

/** The problem with a pool's name: at most 63 characters, as `node-role.kubernetes.io/<name>` contains it. */
export function poolNameProblem(name: string): string | undefined {
  if (name.length > 63) return `${JSON.stringify(name)} is longer than 63 characters`;
  if (DNS_SUBDOMAIN.test(name)) return undefined;
  return `${JSON.stringify(name)} must consist of lower case letters, digits, '-' and '.', with a letter or digit first and last`;
}

/** `key=value:Effect`, or `key:Effect` without a value, as kubectl writes it and `parseTaint` parses it. */
export function formatTaint({ key, value, effect }: Taint): string {
  return value === undefined || value === '' ? `${key}:${effect}` : `${key}=${value}:${effect}`;
}
