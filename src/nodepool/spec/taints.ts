/** Taints: the rules for those of a pool, their identity, and which tolerations tolerate them. */

import { parseInt64 } from '../json.ts';
import type { NodePool, StartupTaint, Taint, TaintEffect, Toleration } from '../types.ts';
import type { FieldError } from './field-error.ts';
import { effectProblem, keyProblem, valueProblem } from './syntax.ts';

/** Maximum number of taints, and of startup taints. */
export const MAX_TAINTS = 100;

/** Set and removed by the node lifecycle controller, cloud controllers and others. */
const CLUSTER_TAINT_PREFIXES = ['node.kubernetes.io/', 'node.cloudprovider.kubernetes.io/'];
/** The only one of these taints that people set by hand. */
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export function taintErrors({ spec: { taints = [] } }: NodePool): FieldError[] {
  return listErrors('spec.taints', taints);
}

export function startupTaintErrors({ spec: { taints = [], startupTaints = [] } }: NodePool): FieldError[] {
  if (startupTaints.length === 0) return [];
  const field = 'spec.startupTaints';
  const ids = new Set(taints.map(taintId));
  const both = startupTaints.find(taint => ids.has(taintId(taint)));
  return [
    ...listErrors(field, startupTaints),
    ...startupTaints.flatMap(({ until }, index) => conditionErrors(`${field}[${index}].until.nodeCondition`, until)),
    ...startupTaints.flatMap(({ again = 'Boot' }, index) =>
      again === 'Boot' ? [] : [{ field: `${field}[${index}].again`, message: againProblem(again) }],
    ),
    ...(both === undefined
      ? []
      : [
          {
            field,
            message: `spec.taints also has key ${JSON.stringify(both.key)} with effect ${both.effect}`,
            next: 'keep one of the two',
          },
        ]),
  ];
}

/** The problem with the type of a condition, by the rules for readiness gates; undefined if it is valid. */
export function conditionProblem(type: string): string | undefined {
  return keyProblem(type)?.replace(/\bkey\b/, 'condition type');
}

export function againProblem(again: string): string {
  return `${JSON.stringify(again)} is invalid: the only value is Boot`;
}

function conditionErrors(field: string, until: StartupTaint['until']): FieldError[] {
  const message = until && conditionProblem(until.nodeCondition);
  return message === undefined ? [] : [{ field, message }];
}

function listErrors(field: string, taints: readonly Taint[]): FieldError[] {
  const errors: FieldError[] = [];
  if (taints.length === 0) return errors;
  if (taints.length > MAX_TAINTS) errors.push({ field, message: `more than ${MAX_TAINTS} taints` });
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    errors.push(...oneTaintErrors(field, index, taint));
    const id = taintId(taint);
    if (seen.has(id)) {
      errors.push({
        field: `${field}[${index}]`,
        message: `duplicate taint with key ${JSON.stringify(taint.key)} and effect ${taint.effect}`,
        next: 'keep one of the two',
      });
    }
    seen.add(id);
  }
  return errors;
}

function oneTaintErrors(list: string, index: number, { key, value = '', effect }: Taint): FieldError[] {
  const field = `${list}[${index}]`;
  const errors: FieldError[] = [];
  push(errors, `${field}.key`, keyProblem(key));
  push(errors, `${field}.value`, valueProblem(value));
  push(errors, `${field}.effect`, effectProblem(effect));
  if (key !== OUT_OF_SERVICE && CLUSTER_TAINT_PREFIXES.some(prefix => key.startsWith(prefix))) {
    errors.push({
      field: `${field}.key`,
      message: `the cluster itself sets and removes the taint ${key}`,
      next: `remove the taint from ${list}`,
    });
  }
  return errors;
}

function push(errors: FieldError[], field: string, message: string | undefined): void {
  if (message !== undefined) errors.push({ field, message });
}

/** The identity of a taint in plans and records: `key:Effect`. */
export function taintId(taint: { key: string; effect: TaintEffect }): string {
  return `${taint.key}:${taint.effect}`;
}

export function taintsById<T extends Taint>(taints: readonly T[] = []): Map<string, T> {
  return new Map(taints.map(taint => [taintId(taint), taint]));
}

/** Whether key, effect and value are equal. As on the API server, a missing value equals "". */
export function isSameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect && (a.value ?? '') === (b.value ?? '');
}

/** The taint with this identity and value; "" is left out, as the API server does. */
export function taintFrom(id: string, value: string): Taint {
  const colon = id.lastIndexOf(':');
  const effect = id.slice(colon + 1) as TaintEffect;
  return { key: id.slice(0, colon), ...(value === '' ? {} : { value }), effect };
}

// How a NoExecute taint affects running pods, as in Kubernetes' taint eviction controller (k8s.io/kubernetes
// pkg/controller/tainteviction, with Toleration.ToleratesTaint of k8s.io/api). Only tolerations count: DaemonSet pods,
// mirror pods and terminated pods are not exempt, but most DaemonSet and mirror pods have suitable tolerations.

/** As Go's IsDecimalInteger: no plus sign, no leading zeros. */
const DECIMAL = /^(0|-?[1-9]\d*)$/;

/** Lt and Gt compare integers (TaintTolerationComparisonOperators, alpha in 1.35 and 1.36). */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return compares(operator, integer(taint.value ?? ''), integer(value));
    default:
      return false;
  }
}

/** Seconds until the pod is evicted: 0 is immediately, Infinity never. The first matching toleration counts. */
export function evictedAfter(tolerations: readonly Toleration[], taints: readonly Taint[]): number {
  let shortest = Infinity;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    const first = tolerations.find(toleration => tolerates(toleration, taint));
    if (first === undefined) return 0;
    shortest = Math.min(shortest, Math.max(0, first.tolerationSeconds ?? Infinity));
  }
  return shortest;
}

/** NoExecute taints that are new on a node, or have a new value. */
export function arrivingNoExecute(before: readonly Taint[], after: readonly Taint[]): Taint[] {
  const values = new Map(before.map(taint => [taintId(taint), taint.value ?? '']));
  return after.filter(taint => taint.effect === 'NoExecute' && values.get(taintId(taint)) !== (taint.value ?? ''));
}

function compares(operator: 'Lt' | 'Gt', taint: bigint | undefined, toleration: bigint | undefined): boolean {
  if (taint === undefined || toleration === undefined) return false;
  return operator === 'Lt' ? taint < toleration : taint > toleration;
}

function integer(text: string): bigint | undefined {
  return DECIMAL.test(text) ? parseInt64(text) : undefined;
}
